// Which job a command that `fenceline work` runs is for, as its environment says.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "store/job_store.hpp"

namespace fenceline::cli {

// From FENCELINE_JOB and FENCELINE_FENCE (FENCELINE_JOB_FENCE, in a lock that the handler holds); `command` is who
// asks: "progress". Errors: usage.
Result<Holding> current_job(std::string_view command);

}  // namespace fenceline::cli
