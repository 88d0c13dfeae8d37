// What the commands that change something have in common: who does it and why, and whether it is meant.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/job_ids.hpp"

namespace fenceline::cli {

// --as and --reason behind a command's own options.
std::vector<OptionSpec> with_act_options(std::vector<OptionSpec> options = {});
// Errors: usage.
Result<Act> act_of(const Invocation& invocation);

// For ActRequest::request: one try.
std::string fresh_request(Runtime& runtime);

// The ids typed as ID..., none twice; see find_id. Errors: invalid, not_found, conflict.
Result<std::vector<JobId>> ids_of(const Invocation& invocation, Store& store);
// The only one.
Result<JobId> id_of(const Invocation& invocation, Store& store);
// For commands that look at ID...: each in its turn, an empty line between two, or with --json one object a line. One
// that is not there is named, and the others are shown all the same.
Result<int> look_at_each(Invocation& invocation,
                         const std::function<Result<void>(const Invocation&, Store&, const JobId&)>& look);

// The question was answered with yes, by --yes or by the person at the terminal; false: with no. Errors: usage (nobody
// can be asked, and --yes was not given), held (interrupted).
Result<bool> confirmed(const Invocation& invocation, const std::string& question);

// "1 job", "2 jobs".
std::string counted(std::int64_t number, std::string_view thing);

}  // namespace fenceline::cli
