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
#include "runtime/runtime.hpp"
#include "services/pipeline_book.hpp"
#include "store/store.hpp"

namespace fenceline {

struct ItemReport {
  bool changed = false;  // false: it was as asked for already
  PipelineSpec spec;
  Item item;  // as it is now
  ItemNow now_item;
  WallTime now{};  // of the store
};

// Errors of every act: not_found (no such job), conflict (its queue has no pipeline; that is not possible where it is;
// it is finished; others changed it all the time), denied (not by this person), invalid, unavailable, in_doubt, full,
// broken.
class ItemActs {
 public:
  // All references must outlive it. `stop` ends the pauses before repeats.
  ItemActs(Runtime& runtime, Store& store, std::string ns, std::stop_token stop = {});

  // `generation`: of the gate that was looked at; empty: whichever it is.
  Result<ItemReport> approve(const JobId& id, std::optional<std::int64_t> generation, const Act& act);
  // `to`: a stage's name; empty: the one before.
  Result<ItemReport> reject(const JobId& id, const std::string& to, const Act& act);
  Result<ItemReport> move(const JobId& id, const std::string& to, const Act& act);
  Result<ItemReport> hold(const JobId& id, const Act& act);
  Result<ItemReport> release(const JobId& id, const Act& act);
  // By the handler that works on it: what it then returns does not count. Errors: lost (it is not under that fence any
  // more).
  Result<ItemReport> send_back(const Holding& delivery, const std::string& to, const Act& act);

  // As it stands.
  Result<ItemReport> look(const JobId& id);

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
