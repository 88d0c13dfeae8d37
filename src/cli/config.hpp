// Where settings come from: flag, then environment, then default. The one place that reads either.
#pragma once

#include <optional>
#include <string>

#include "base/crash_point.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "cli/command.hpp"

namespace fenceline::cli {

// Sets the store's URL and the namespace. Errors: usage, invalid (a namespace that is no name).
Result<void> settle_config(Invocation& invocation);

struct LogChoice {
  Level least = Level::warn;
  bool held = false;  // shown at the end, and only if the command succeeds: its failure is one line of its own
};
// FENCELINE_LOG, or the default of the command. Errors: usage.
Result<LogChoice> log_choice(const CommandSpec& command);

struct ArmedCrashPoint {
  CrashPoint point;
  int nth = 1;
  std::string mark;
};
// FENCELINE_CRASH_AT=name[:nth] and FENCELINE_CRASH_MARK=file. Errors: usage.
Result<std::optional<ArmedCrashPoint>> armed_crash_point();

// Who acts, for the trail.
std::string login_name();

// NO_COLOR is unset or empty, and TERM is not "dumb".
bool colour_allowed();

// COLUMNS, or what the terminal says, or 80.
int terminal_width();

}  // namespace fenceline::cli
