// What the outcome of a delivery makes of an item: a step of its pipeline, or an outcome as any job has one. Pure.
#pragma once

#include <optional>

#include "model/pipeline.hpp"
#include "model/pipeline_item.hpp"
#include "store/pipeline_store.hpp"

namespace fenceline {

struct StageOutcome {
  std::optional<ItemStep> step;  // with what the delivery left behind:
  std::string result;
  std::string error;
  Outcome plain;  // if there is no step: what is settled
};

// The item runs under the fence of the delivery that ended.
StageOutcome stage_outcome(const PipelineSpec& spec, const Item& item, const ItemNow& now_item,
                           const Settlement& settlement, WallTime now);

// A step for an item that a worker has claimed and must not work on, if so (P1, and holds).
std::optional<ItemStep> not_to_run(const PipelineSpec& spec, const Item& item, const ItemNow& now_item, WallTime now);

}  // namespace fenceline
