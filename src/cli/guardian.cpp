// fenceline guardian: the parent of a command that `fenceline work` runs. Not for people.
#include "runtime/guardian.hpp"

#include "cli/command.hpp"
#include "services/command_handler.hpp"

namespace fenceline::cli {
namespace {

Result<int> run(Invocation& invocation) {
  if (invocation.command.empty()) return std::unexpected(usage_error("no command to guard"));
  GuardianOptions options{.command = invocation.command, .environment = std::nullopt};
  if (invocation.has("--clean-env")) options.environment = clean_environment();
  return run_guardian(options);
}

}  // namespace

CommandSpec guardian_command() {
  return {.name = "guardian",
          .summary = "the parent of a command that a worker runs",
          .arguments = {},
          .options = {{"--clean-env", "", "give the command only what is about its job, and PATH"}},
          .examples = {},
          .takes_command = true,
          .hidden = true,
          .run = run};
}

}  // namespace fenceline::cli
