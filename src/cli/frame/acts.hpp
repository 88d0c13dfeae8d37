// What the commands that change something have in common: who does it and why, and whether it is meant.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// --as and --reason behind a command's own options.
std::vector<OptionSpec> with_act_options(std::vector<OptionSpec> options = {});
// Errors: usage.
Result<Act> act_of(const Invocation& invocation);

// For ActRequest::request: one try.
std::string fresh_request(Runtime& runtime);

// How a command that takes ids describes them.
inline constexpr const char* kIdHelp = "the job's id, as enqueue printed it, or its first 8 characters or more";
inline constexpr const char* kIdsHelp =
    "the jobs' ids, as enqueue printed them, or the first 8 characters or more of each";

// Whole, or by its beginning. Errors: invalid, not_found, conflict (several begin so).
Result<JobId> find_id(const std::string& text, const std::string& ns, Store& store);
// The ids typed as ID..., none twice; each whole, or by its beginning if only one job has such an id. Errors: invalid
// (not an id), not_found (no job begins so), conflict (more than one does).
Result<std::vector<JobId>> ids_of(const Invocation& invocation, Store& store);
// The only one.
Result<JobId> id_of(const Invocation& invocation, Store& store);
// For commands that look at ID...: each in its turn, an empty line between two, or with --json one object a line. One
// that is not there is named, and the others are shown all the same.
Result<int> look_at_each(Invocation& invocation,
                         const std::function<Result<void>(const Invocation&, Store&, const JobId&)>& look);
Error no_such_job(const JobId& id, const std::string& ns);

// The question was answered with yes, by --yes or by the person at the terminal; false: with no. Errors: usage (nobody
// can be asked, and --yes was not given), held (interrupted).
Result<bool> confirmed(const Invocation& invocation, const std::string& question);

// "1 job", "2 jobs".
std::string counted(std::int64_t number, std::string_view thing);

}  // namespace fenceline::cli
