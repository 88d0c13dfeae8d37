// Payloads of a schedule's jobs. A `$` stands in JSON only inside of a string, and what is put in needs no escape
// there: so the text can be filled in. Before that, letters that are written as escapes are written plainly:
// "\u0024{tick}" and "${tick}" are one JSON value.
#include <algorithm>
#include <array>
#include <charconv>

#include "model/json_check.hpp"
#include "model/schedule.hpp"
#include "model/time_zone.hpp"

namespace fenceline {
namespace {

constexpr std::string_view kOpen = "${", kPlain = "$${";
constexpr std::array<std::string_view, 4> kWords{"tick", "tick.local", "tick.unix", "schedule"};

// Copies the text, and asks for each word what stands in its place. Empty: a word has no end, or there is none for it.
template <class Value>
std::optional<std::string> filled(std::string_view text, Value value_of) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('$'), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.starts_with(kPlain)) {
      out += kOpen;
      text.remove_prefix(kPlain.size());
    } else if (text.starts_with(kOpen)) {
      const std::size_t end = text.find('}');
      const std::optional<std::string> value =
          value_of(text.substr(kOpen.size(), end == std::string_view::npos ? end : end - kOpen.size()));
      if (end == std::string_view::npos || !value) return std::nullopt;
      out += *value;
      text.remove_prefix(end + 1);
    } else if (!text.empty()) {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

int hexadecimal(std::string_view digits) {
  int value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return read.ptr == digits.data() + digits.size() ? value : -1;
}

// The same JSON value: an escape of a printable ASCII character becomes that character, unless it must be escaped.
std::string written_plainly(std::string_view payload) {
  constexpr std::size_t kEscape = 6;  // \uXXXX
  std::string out;
  while (!payload.empty()) {
    const std::size_t at = std::min(payload.find('\\'), payload.size());
    out += payload.substr(0, at);
    payload.remove_prefix(at);
    if (payload.empty()) break;
    const int code = payload.size() >= kEscape && payload[1] == 'u' ? hexadecimal(payload.substr(2, kEscape - 2)) : -1;
    const bool plain = code >= 0x20 && code < 0x7f && code != '"' && code != '\\';
    if (plain) out += static_cast<char>(code);
    const std::size_t length = plain ? kEscape : std::min<std::size_t>(2, payload.size());
    if (!plain) out += payload.substr(0, length);
    payload.remove_prefix(length);
  }
  return out;
}

std::string shown_word(std::string_view word) { return std::string(word.substr(0, word.find('"'))).substr(0, 40); }

}  // namespace

Result<void> check_template(std::string_view payload) {
  if (payload.size() > kTemplateBytesMax)
    return fail(Code::invalid, "payload is too large (" + std::to_string(payload.size()) +
                                   " bytes); at most 64 KiB: keep large data elsewhere and send its address");
  if (auto ok = check_payload(payload); !ok) return ok;
  std::string unknown;
  const std::optional<std::string> text =
      filled(written_plainly(payload), [&](std::string_view word) -> std::optional<std::string> {
        if (std::ranges::find(kWords, word) != kWords.end()) return "";
        unknown = shown_word(word);
        return std::nullopt;
      });
  if (!text)
    return fail(Code::invalid, "payload has ${" + unknown +
                                   "}, which is not a known placeholder; use ${tick}, ${tick.local}, ${tick.unix} or "
                                   "${schedule}, and $${ for a plain ${");
  return {};
}

std::string fill_template(const ScheduleSpec& spec, std::string_view schedule, WallTime tick) {
  const auto value = [&](std::string_view word) -> std::optional<std::string> {
    if (word == "tick") return local_text(tick, "UTC");
    if (word == "tick.local") return local_text(tick, spec.zone);
    if (word == "tick.unix")
      return std::to_string(std::chrono::floor<std::chrono::seconds>(tick).time_since_epoch().count());
    if (word == "schedule") return std::string(schedule);
    return std::nullopt;
  };
  return filled(written_plainly(spec.payload), value)
      .value_or(spec.payload);  // of a payload that was checked nothing is unknown
}

}  // namespace fenceline
