// Pipelines and their items as people and scripts see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"
#include "services/item_acts.hpp"
#include "services/pipeline_book.hpp"

namespace fenceline::cli {

// One JSON object on one line.
std::string pipeline_json(const PipelineRow& row, const PipelineSpec& spec);
// A line for each pipeline.
Table pipelines_table(const std::vector<PipelineRow>& rows);
// A line for each stage.
Table stages_table(const PipelineSpec& spec);

// What is known of an item beside its job: a JSON object.
std::string item_json(const PipelineSpec& spec, const ItemNow& item);
// For a card: one field a line.
std::vector<std::vector<Cell>> item_fields(const PipelineSpec& spec, const ItemNow& item);

// The row of that name, and what it says. Errors: invalid, not_found, with the nearest name.
struct FoundPipeline {
  PipelineRow row;
  PipelineSpec spec;
};
Result<FoundPipeline> find_pipeline(const Invocation& invocation, Store& store, const std::string& name);

// Jobs as people see them: the first stage of a pipeline, which has no name in the store, has its name, and an item
// that waits for approval, which the store keeps ready for a worker to look at, is `waiting`. What cannot be read is
// left as it is: a look at jobs must not fail for it.
class StageNames {
 public:
  StageNames(Store& store, const std::string& ns);
  explicit StageNames(KnownPipelines known) : known_(std::move(known)) {}
  void name(Job& job) const;
  // What people see instead of the state of a job at this stage, as stored.
  JobState shown_state(const std::string& queue, const std::string& stage, JobState state) const;
  // Whether some stage of the queue, or of any, waits for approval.
  bool has_approvals(const std::optional<std::string>& queue = std::nullopt) const;
  const PipelineSpec* of(const std::string& queue) const;

 private:
  KnownPipelines known_;
};

}  // namespace fenceline::cli
