// Reading what was typed, and exit codes.
#include <algorithm>
#include <charconv>

#include "base/duration_text.hpp"
#include "base/verdict_text.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

// An error of the command line is an `invalid` that says so; main() prints it without the mark.
constexpr std::string_view kUsageMark = "usage: ";

// For errors of those who cannot know what their caller should do.
std::string_view usual_remedy(Code code) {
  switch (code) {
    case Code::held: return "try again later";
    case Code::lost: return "stop working on it: another holder has it now";
    case Code::not_found: return "check the name";
    case Code::conflict: return "choose another name";
    case Code::refused: return "check the file and its permissions";
    case Code::denied: return "check your credentials and permissions";
    case Code::full: return "make room on the disk and try again";
    case Code::invalid: return "see 'fenceline help'";
    case Code::unavailable: return "nothing was changed; try again";
    case Code::in_doubt: return "it may have happened; check before you repeat it";
    case Code::broken: return "check the disk and the system log before you try again";
  }
  return "please report it";
}

// "nothing was changed" and "it may have happened" never stand in one message, and neither stands there twice.
std::string one_verdict(const std::string& text, Code code) {
  const std::string_view wrong = code == Code::unavailable ? "it may have happened" : "nothing was changed";
  std::string stripped = without_verdict(text);
  const bool gets_remedy = stripped.find("; ") == std::string::npos;
  return gets_remedy || text.find(wrong) != std::string::npos ? std::move(stripped) : text;
}

// As the help has it: a day is "24h" there.
std::string bound_text(Duration bound) { return bound == std::chrono::hours{24} ? "24h" : format_duration(bound); }

}  // namespace

Error usage_error(std::string message) { return {Code::invalid, std::string(kUsageMark) + std::move(message)}; }

std::string error_text(const Error& error) {
  std::string_view text = error.message;
  if (text.starts_with(kUsageMark)) text.remove_prefix(kUsageMark.size());
  // One verdict in one message: that of the code, which is added below if nobody said what to do.
  const bool speaks_of_it = error.code == Code::unavailable || error.code == Code::in_doubt;
  std::string line = printable(one_line(speaks_of_it ? one_verdict(std::string(text), error.code) : std::string(text)));
  if (line.find("; ") == std::string::npos) line += "; " + std::string(usual_remedy(error.code));
  return line;
}

int exit_code(const Error& error) {
  switch (error.code) {
    case Code::held: return kExitTryLater;
    case Code::lost: return kExitLost;
    case Code::not_found: return kExitNotFound;
    case Code::conflict: return kExitBadInput;
    case Code::refused: return kExitUnavailable;
    case Code::denied: return kExitCredentials;
    case Code::full: return kExitIo;
    case Code::invalid: return error.message.starts_with(kUsageMark) ? kExitUsage : kExitBadInput;
    case Code::unavailable: return kExitUnavailable;
    case Code::in_doubt: return kExitTryLater;
    case Code::broken: return kExitIo;
  }
  return kExitBug;
}

bool Invocation::has(std::string_view option) const { return options.contains(std::string(option)); }

std::optional<std::string> Invocation::value(std::string_view option) const {
  const auto found = options.find(std::string(option));
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::string Invocation::argument(std::string_view name) const {
  const auto found = arguments.find(std::string(name));
  return found == arguments.end() || found->second.empty() ? std::string() : found->second.front();
}

bool Invocation::accepts(std::string_view what) const {
  const auto given = options.find("--accept");
  return given != options.end() && std::ranges::find(given->second, what) != given->second.end();
}

Result<std::int64_t> Invocation::number(std::string_view option, std::int64_t otherwise, std::int64_t least,
                                        std::int64_t most) const {
  const std::optional<std::string> text = value(option);
  if (!text) return otherwise;
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stopped, problem] = std::from_chars(text->data(), end, number);
  if (problem != std::errc{} || stopped != end || number < least || number > most)
    return std::unexpected(usage_error(std::string(option) + " '" + printable(*text, 40) +
                                       "' is not valid; use a whole number from " + std::to_string(least) + " to " +
                                       std::to_string(most)));
  return number;
}

Result<Duration> Invocation::duration(std::string_view option, Duration otherwise, Duration least,
                                      Duration most) const {
  const std::optional<std::string> text = value(option);
  if (!text) return otherwise;
  const Result<Duration> parsed = parse_duration(*text, {least, most});
  if (parsed) return *parsed;
  // One that is a duration, but not one for this option, is not called none.
  const Result<Duration> any = parse_duration(*text, {Duration{0}, Duration::max()});
  if (!any) return std::unexpected(usage_error(std::string(option) + ": " + parsed.error().message));
  return std::unexpected(usage_error(std::string(option) + " " + printable(*text, 40) + " is too " +
                                     (*any < least ? "short" : "long") + "; use " + bound_text(least) + " to " +
                                     bound_text(most)));
}

}  // namespace fenceline::cli
