// Lists of jobs, a page at a time or all of them in constant memory.
#pragma once

#include <functional>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// --queue, --tag, --key, --error, --since, --until.
std::vector<OptionSpec> filter_options();
// --sort, --limit, --after and --all.
std::vector<OptionSpec> page_options();
std::vector<OptionSpec> with_options(std::vector<OptionSpec> options, const std::vector<OptionSpec>& more);
// What the filters say, and that the newest jobs come first. Errors: usage, invalid.
Result<JobsRequest> filter_request(const Invocation& invocation);
// What all of them say. Errors: usage, invalid.
Result<JobsRequest> list_request(const Invocation& invocation);

// Fills a page: a store may answer fewer jobs than asked for where it looked at many that did not fit.
Result<JobsReply> full_page(const Invocation& invocation, Store& store, JobsRequest request);

// Prints the page that was asked for, or all pages. Pipelines are looked at: an item that waits for approval is
// `waiting`.
Result<int> list_jobs(Invocation& invocation, JobsRequest request);

}  // namespace fenceline::cli
