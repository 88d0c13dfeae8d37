// Where settings come from: flag, then environment, then fenceline.toml, then default. The one place that reads any.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/crash_point.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// Sets the store's URL, the namespace, the folder of gates and the list of settings; what the file says for this
// command stands in its options as if it had been typed. A store that the file names by a relative path lies beside the
// file. Errors: usage (a store of no known kind), invalid (a namespace that is no name; a file with an error, with its
// line), not_found (a file that was asked for).
Result<void> settle_config(const CommandSpec& command, Invocation& invocation);

// What a project file says: "work.ttl" and so on. Pure; `path` is for messages only. Errors: invalid.
struct FileSetting {
  std::string value;
  int line = 0;

  bool operator==(const FileSetting&) const = default;
};
Result<std::map<std::string, FileSetting>> parse_project_file(const std::string& path, const std::string& text);

// A URL as people may see it: a password in it is "***".
std::string without_password(const std::string& url);

struct LogChoice {
  Level least = Level::warn;
  bool deferred = false;  // shown at the end, and only if the command succeeds: its failure is one line of its own
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

// A variable that a worker sets for its commands; empty counts as unset.
std::optional<std::string> from_environment(const char* name);

// TRACEPARENT, or empty.
std::string trace_from_environment();

// The value of TZ, if it is not a time zone of this machine: the C library would silently use UTC.
std::optional<std::string> unknown_zone();

// Whether a setting of that name ("work.concurrency") is a number.
bool is_number(const std::string& setting);

// NO_COLOR is unset or empty, and TERM is not "dumb".
bool colour_allowed();

// COLUMNS, or what the terminal says, or 80.
int terminal_width();

}  // namespace fenceline::cli
