// `fenceline drill store-restart` and `fenceline drill cut`: faults of a store that runs in a process of its own, behind a
// connection. An embedded store has neither, and these say so instead of passing.
#include "cli/drill_fleet.hpp"

namespace fenceline::cli {
namespace {

Result<int> nothing_to_play(Invocation& invocation, const std::string& name, const std::string& what) {
  DrillReport report;
  report.not_injected.push_back(what + ": the store is embedded in its users' processes; `drill kill` and `drill pause` play what can befall it");
  return tell_drill(invocation, name, report);
}

}  // namespace

CommandSpec drill_store_restart_command() {
  return {.name = "drill store-restart",
          .summary = "Restarts the server of the store under real workers; an embedded store has none.",
          .arguments = {},
          .options = {},
          .examples = {{"fenceline drill store-restart", "says what it could not inject"}},
          .run = [](Invocation& invocation) { return nothing_to_play(invocation, "store-restart", "a restart of the server"); }};
}

CommandSpec drill_cut_command() {
  return {.name = "drill cut",
          .summary = "Cuts the connections of real workers to the store; an embedded store has none.",
          .arguments = {},
          .options = {},
          .examples = {{"fenceline drill cut", "says what it could not inject"}},
          .run = [](Invocation& invocation) { return nothing_to_play(invocation, "cut", "half-open, reset and slow connections"); }};
}

}  // namespace fenceline::cli
