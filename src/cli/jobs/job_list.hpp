// Lists of jobs, a page at a time or all of them in constant memory.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// --queue, --tag, --limit, --after and --all.
std::vector<OptionSpec> list_options();
// What they say. Errors: usage, invalid.
Result<JobsRequest> list_request(const Invocation& invocation);
// Prints the page that was asked for, or all pages.
Result<int> list_jobs(Invocation& invocation, JobsRequest request);

}  // namespace fenceline::cli
