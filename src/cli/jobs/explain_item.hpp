// Why an item of a pipeline is where it is: what its entry condition, a hold or its stage adds to the reasons of a job.
// Pure.
#pragma once

#include <vector>

#include "cli/jobs/explain.hpp"
#include "model/pipeline_item.hpp"

namespace fenceline::cli {

// Names beside those of explain(): held, approval, check, no_checker, no_stage, returned. `of_job`: what explain()
// said.
std::vector<Reason> explain_item(const PipelineSpec& spec, const ItemNow& item, const JobFacts& facts,
                                 std::vector<Reason> of_job);

}  // namespace fenceline::cli
