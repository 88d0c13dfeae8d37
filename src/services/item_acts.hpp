// What people do to items of pipelines. Each act reads the item, decides by the rules of its pipeline, and changes it
// in one step of the store that counts only if nobody changed it since; else it is decided anew, a bounded number of
// times. An approval is for the generation that was read first, and a rejection or a move is from where the item was
// read first: if it has left there meanwhile, it was another one that was looked at.
//
// A reply that was lost is asked for again with the same request. Safe to use from several threads.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"
#include "fenceline/pipelines.hpp"
#include "runtime/runtime.hpp"
#include "services/pipeline_book.hpp"
#include "store/store.hpp"

namespace fenceline {

// What each act promises says ItemControl.
class ItemActs final : public ItemControl {
 public:
  // All references must outlive it. `stop` ends the pauses before repeats.
  ItemActs(Runtime& runtime, Store& store, std::string ns, std::stop_token stop = {});

  Result<ItemReport> approve(const JobId& id, std::optional<std::int64_t> generation, const Act& act) override;
  Result<ItemReport> reject(const JobId& id, const std::string& to, const Act& act) override;
  Result<ItemReport> move(const JobId& id, const std::string& to, const Act& act) override;
  Result<ItemReport> hold(const JobId& id, const Act& act) override;
  Result<ItemReport> release(const JobId& id, const Act& act) override;
  Result<ItemReport> send_back(const Holding& delivery, const std::string& to, const Act& act) override;
  Result<ItemReport> look(const JobId& id) override;

 private:
  using Decide = std::function<MaybeStep(const PipelineSpec& spec, const ItemNow& item, WallTime now)>;
  Result<ItemReport> change(const JobId& id, const Act& act, std::optional<Fence> fence, const Decide& decide);

  Runtime& runtime_;
  Store& store_;
  std::string ns_;
  std::stop_token stop_;
};

// A stage of a pipeline by its name. Errors: invalid, with the nearest name.
Result<std::size_t> stage_named(const PipelineSpec& spec, const std::string& name);

}  // namespace fenceline
