// What became of an act on several jobs: those that are as asked for on stdout, the others on stderr.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// "job X was not found", "... holds its unique key": what, why, what to do.
Error refusal_error(const ActRefusal& refusal, const std::string& ns);

// Prints the ids of those that were not refused, one a line, or one JSON object with both. The exit code is that of the
// first refusal.
Result<int> report_act(const Invocation& invocation, const std::vector<JobId>& ids, const ActReply& reply,
                       std::string_view done);

// A JSON array of refusals.
std::string refusals_json(const std::vector<ActRefusal>& refusals);

}  // namespace fenceline::cli
