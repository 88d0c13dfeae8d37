#include "base/duration_text.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.hpp"

namespace fenceline {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t micros;
};

constexpr std::array<Unit, 5> kUnits{
    {{"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}}};

}  // namespace

Result<Duration> parse_duration(std::string_view text, DurationRange allowed) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, "'" + shown_briefly(text) + "' is not a duration: " + std::string(why) +
                                   "; write a whole number with ms, s, m, h or d, from " +
                                   format_duration(allowed.least) + " to " + format_duration(allowed.most));
  };
  std::size_t digits = 0;
  std::int64_t number = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (number > (std::numeric_limits<std::int64_t>::max() - 9) / 10) return bad("too large");
    number = number * 10 + (text[digits++] - '0');
  }
  if (digits == 0) return bad("it does not start with a digit");
  const std::string_view unit_name = text.substr(digits);
  if (unit_name.empty()) return bad("the unit is missing");
  for (const Unit& unit : kUnits) {
    if (unit.name != unit_name) continue;
    if (number > allowed.most.count() / unit.micros) return bad("too long");
    const Duration duration{number * unit.micros};
    if (duration < allowed.least) return bad("too short");
    return duration;
  }
  return bad("unknown unit");
}

Result<void> check_duration(std::string_view what, Duration value, DurationRange allowed) {
  if (value >= allowed.least && value <= allowed.most) return {};
  return fail(Code::invalid, std::string(what) + " is out of range; use " + format_duration(allowed.least) + " to " +
                                 format_duration(allowed.most));
}

std::string format_duration(Duration duration) {
  if (duration < Duration{0}) return "-" + format_duration(duration == Duration::min() ? Duration::max() : -duration);
  if (duration == Duration{0}) return "0s";
  const std::int64_t millis = duration.count() / 1000 + (duration.count() % 1000 == 0 ? 0 : 1);
  for (const Unit& unit : kUnits) {
    if (millis % (unit.micros / 1000) == 0)
      return std::to_string(millis / (unit.micros / 1000)) + std::string(unit.name);
  }
  return std::to_string(millis) + "ms";
}

}  // namespace fenceline
