// What a producer says of a job on the command line.
#pragma once

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// All options of enqueue that describe a job.
std::vector<OptionSpec> new_job_options();

// The job they describe, without id and payload. Nothing is opened. Errors: usage, invalid.
Result<NewJob> job_from_options(const Invocation& invocation);

}  // namespace fenceline::cli
