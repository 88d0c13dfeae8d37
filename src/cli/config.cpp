#include "cli/config.hpp"

#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/utf8.hpp"
#include "cli/nearest.hpp"
#include "cli/text.hpp"
#include "model/job.hpp"

namespace fenceline::cli {
namespace {

// An empty variable is an unset one: that is how people switch a setting off in a shell.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [stopped, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || stopped != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<void> settle_config(Invocation& invocation) {
  const std::optional<std::string> store = invocation.value("--store");
  invocation.store_url = store ? *store : environment("FENCELINE_STORE").value_or("sqlite:fenceline.db");
  if (!is_valid_utf8(invocation.store_url))
    return std::unexpected(usage_error("FENCELINE_STORE is not text in UTF-8; give a URL such as sqlite:fenceline.db"));
  const std::optional<std::string> ns = invocation.value("--namespace");
  invocation.ns = ns ? *ns : environment("FENCELINE_NAMESPACE").value_or("default");
  return check_name("namespace", invocation.ns);
}

Result<LogChoice> log_choice(const CommandSpec& command) {
  const std::optional<std::string> text = environment("FENCELINE_LOG");
  if (!text && command.name == "work") return LogChoice{.least = Level::info};
  if (!text) return LogChoice{.least = Level::warn, .held = !command.hidden};
  for (const Level level : {Level::debug, Level::info, Level::warn, Level::error}) {
    if (*text == to_string(level)) return LogChoice{.least = level};
  }
  return std::unexpected(usage_error("FENCELINE_LOG '" + printable(*text, 40) + "' is no level; use debug, info, warn or error"));
}

Result<std::optional<ArmedCrashPoint>> armed_crash_point() {
  const std::optional<std::string> text = environment("FENCELINE_CRASH_AT");
  if (!text) return std::nullopt;
  const std::size_t colon = text->find(':');
  const std::optional<CrashPoint> point = find_crash_point(text->substr(0, colon));
  const std::optional<int> nth = colon == std::string::npos ? 1 : whole_number(text->substr(colon + 1));
  if (!point || !nth || *nth < 1)
    return std::unexpected(usage_error("FENCELINE_CRASH_AT '" + printable(*text, 40) +
                                       "' is no crash point; use NAME or NAME:NTH from 'fenceline drill kill --list'"));
  return ArmedCrashPoint{*point, *nth, environment("FENCELINE_CRASH_MARK").value_or("")};
}

std::string login_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return printable(found->pw_name, 64);
  return "uid-" + std::to_string(::geteuid());
}

bool colour_allowed() { return !environment("NO_COLOR") && environment("TERM").value_or("dumb") != "dumb"; }

int terminal_width() {
  if (const auto columns = environment("COLUMNS")) {
    if (const auto number = whole_number(*columns); number && *number >= 20) return *number;
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

}  // namespace fenceline::cli
