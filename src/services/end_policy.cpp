#include "services/end_policy.hpp"

#include <charconv>
#include <csignal>
#include <optional>

#include "base/valid_text.hpp"

namespace fenceline {
namespace {

constexpr std::string_view kAllowed =
    "use EXIT=OUTCOME, where EXIT is 1 to 255, signal, timeout or other, and OUTCOME is fail, dead, later or done";

std::optional<OutcomeKind> parse_outcome(std::string_view text) {
  if (text == "fail") return OutcomeKind::failed;
  if (text == "dead") return OutcomeKind::dead;
  if (text == "later") return OutcomeKind::later;
  if (text == "done") return OutcomeKind::done;
  return std::nullopt;
}

// As it stands in the table.
std::optional<std::string> parse_end(std::string_view text) {
  if (text == "signal" || text == "timeout" || text == "other") return std::string(text);
  int status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  if (error != std::errc{} || end != text.data() + text.size() || status < 1 || status > kExitStatusMost)
    return std::nullopt;
  return std::to_string(status);
}

}  // namespace

EndPolicy::EndPolicy()
    : rules_{{std::to_string(kCommandDead), OutcomeKind::dead},
             {std::to_string(kCommandLater), OutcomeKind::later},
             {"other", OutcomeKind::failed}} {}

Result<EndPolicy> EndPolicy::parse(const std::vector<std::string>& rules) {
  EndPolicy policy;
  for (const std::string& rule : rules) {
    const std::size_t equals = rule.find('=');
    const std::string_view text = rule;
    const auto end = equals == std::string::npos ? std::nullopt : parse_end(text.substr(0, equals));
    const auto outcome = equals == std::string::npos ? std::nullopt : parse_outcome(text.substr(equals + 1));
    if (!end || !outcome)
      return fail(Code::invalid, "'" + as_text(rule, 40) + "' does not describe an exit; " + std::string(kAllowed));
    policy.rules_[*end] = *outcome;
  }
  return policy;
}

OutcomeKind EndPolicy::of(const ExitStatus& status) const {
  return find(status.exited ? std::to_string(status.number) : "signal");
}

std::optional<OutcomeKind> EndPolicy::of_told(const ExitStatus& status) const {
  if (!status.exited || status.number == kSignalBase + SIGTERM || status.number == kSignalBase + SIGKILL)
    return std::nullopt;
  if (status.number == 0) return OutcomeKind::done;
  const auto found = rules_.find(std::to_string(status.number));
  return found != rules_.end() ? std::optional(found->second) : std::nullopt;
}

OutcomeKind EndPolicy::find(const std::string& end) const {
  const auto found = rules_.find(end);
  return found != rules_.end() ? found->second : rules_.at("other");
}

}  // namespace fenceline
