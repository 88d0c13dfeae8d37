// The pipelines of a namespace, as its store has them at a moment.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/pipeline.hpp"
#include "model/pipeline_item.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

struct KnownPipeline {
  PipelineSpec spec;  // without stages: it is of a newer version
  std::int64_t revision = 0;

  bool readable() const { return !spec.stages.empty(); }
};

using KnownPipelines = std::map<std::string, KnownPipeline, std::less<>>;  // by queue

// Those of some queues; no queues: all. Errors: those of the store; invalid (one of them is of a newer version).
Result<KnownPipelines> read_pipelines(Store& store, const std::string& ns, const std::vector<std::string>& queues = {});
// Empty if that queue has none.
Result<std::optional<KnownPipeline>> read_pipeline(Store& store, const std::string& ns, const std::string& queue);

// Stages are those of a pipeline: a job at any other would wait for ever for a worker that nobody starts. No stage: ok.
// Errors: invalid (one of the queues has no pipeline), and those of the store.
Result<void> check_stage_of_pipeline(Store& store, const std::string& ns, const std::vector<std::string>& queues,
                                     const std::string& stage);

// An item as the rules see it. Errors: invalid (its record is of a newer version).
Result<ItemNow> item_now(const Item& item);
// What the store is asked for.
ItemChange change_of(const Item& item, const ItemStep& step);

// What a process knows of the pipelines of its queues; one of a newer version is among them, and not readable. Safe to
// use from several threads.
class PipelineBook {
 public:
  PipelineBook(Runtime& runtime, Store& store, std::string ns, std::vector<std::string> queues);

  // Not older than two seconds.
  Result<std::shared_ptr<const KnownPipelines>> recent();
  // As it is now.
  Result<std::shared_ptr<const KnownPipelines>> fresh();

 private:
  Runtime& runtime_;
  Store& store_;
  const std::string ns_;
  const std::vector<std::string> queues_;
  std::mutex mutex_;
  std::shared_ptr<const KnownPipelines> known_;
  Instant read_at_{};
};

}  // namespace fenceline
