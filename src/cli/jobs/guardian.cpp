// fenceline guardian: the parent of a command that `fenceline work` or `fenceline lock` runs. Not for people.
#include "runtime/guardian.hpp"

#include <sys/types.h>

#include <limits>

#include "base/duration_text.hpp"
#include "cli/jobs/commands.hpp"
#include "services/command_handler.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_guardian(Invocation& invocation) {
  if (invocation.command.empty()) return std::unexpected(usage_error("no command to guard"));
  GuardianOptions options{.command = invocation.command, .environment = std::nullopt};
  if (invocation.has("--clean-env")) options.environment = clean_environment();
  if (invocation.has("--attached-to")) {
    const Result<std::int64_t> group = invocation.number("--attached-to", 0, 1, std::numeric_limits<pid_t>::max());
    const Result<std::int64_t> grace = invocation.number("--grace-us", 0, 0, kTtlRange.most.count());
    if (!group) return std::unexpected(group.error());
    if (!grace) return std::unexpected(grace.error());
    options.attached = GuardianOptions::Attached{.group = static_cast<int>(*group), .grace = Duration{*grace}};
    if (const auto ignored = invocation.options.find("--ignored"); ignored != invocation.options.end()) {
      for (const std::string& signal : ignored->second) options.attached->ignored.push_back(std::stoi(signal));
    }
  }
  return run_guardian(options);
}

}  // namespace

CommandSpec guardian_command() {
  return {.name = "guardian",
          .summary = "Be the parent of a command that a worker runs",
          .arguments = {},
          .options = {{"--clean-env", "", "pass the command only the variables of its job, and PATH"},
                      {"--attached-to", "GROUP", "the process group that the command joins"},
                      {.name = "--ignored",
                       .value = "SIGNAL",
                       .help = "attached: a signal that the command ignores from the start",
                       .repeated = true},
                      {"--grace-us", "US", "attached: TERM comes this long before the deadline"}},
          .examples = {},
          .takes_command = true,
          .hidden = true,
          .run = run_guardian};
}

}  // namespace fenceline::cli
