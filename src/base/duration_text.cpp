#include "base/duration_text.hpp"

#include <array>
#include <cstdint>
#include <expected>

#include "base/text.hpp"

namespace fenceline {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t micros;
};

constexpr std::array<Unit, 5> kUnits{
    {{"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}}};

// Reads one number with its unit after the other.
class DurationReader {
 public:
  DurationReader(std::string_view text, Duration most) : text_(text), most_(most.count()) {}

  // The total in microseconds, or why the text is not a duration.
  std::expected<std::int64_t, std::string_view> read() {
    do {
      if (const std::string_view why = read_part(); !why.empty()) return std::unexpected(why);
    } while (!text_.empty());
    return total_;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::string_view take_digits() {
    std::size_t count = 0;
    while (count < text_.size() && is_digit(text_[count])) ++count;
    const std::string_view digits = text_.substr(0, count);
    text_.remove_prefix(count);
    return digits;
  }

  // All letters that follow, so that "ms" is not minutes. The number of units if there is none of that name.
  std::size_t take_unit() {
    std::size_t count = 0;
    while (count < text_.size() && text_[count] >= 'a' && text_[count] <= 'z') ++count;
    const std::string_view name = text_.substr(0, count);
    text_.remove_prefix(count);
    std::size_t unit = 0;
    while (unit < kUnits.size() && kUnits[unit].name != name) ++unit;
    return unit;
  }

  // Empty if all is well.
  std::string_view read_part() {
    if (had_fraction_) return "only the last number may have a fraction";
    const std::string_view whole = take_digits();
    if (whole.empty()) return next_unit_ == 0 ? "it does not start with a digit" : "a digit must follow the unit";
    std::string_view fraction;
    if (text_.starts_with('.')) {
      text_.remove_prefix(1);
      fraction = take_digits();
      if (fraction.empty()) return "no digit follows the point";
      had_fraction_ = true;
    }
    if (text_.empty()) return "the unit is missing";
    const std::size_t unit = take_unit();
    if (unit == kUnits.size()) return "unknown unit";
    if (unit < next_unit_) return "units must go from the largest to the smallest, each once";
    next_unit_ = unit + 1;
    return add(whole, fraction, kUnits[unit].micros);
  }

  std::string_view add(std::string_view whole, std::string_view fraction, std::int64_t micros) {
    std::int64_t number = 0;
    for (const char digit : whole) {
      number = number * 10 + (digit - '0');
      if (number > most_ / micros) return "too long";
    }
    // From the last digit to the first, a tenth each time: exact at every step if the sum is, and never more than a
    // unit.
    while (fraction.ends_with('0')) fraction.remove_suffix(1);
    std::int64_t part = 0;
    for (; !fraction.empty(); fraction.remove_suffix(1)) {
      part += (fraction.back() - '0') * micros;
      if (part % 10 != 0) return "finer than a microsecond";
      part /= 10;
    }
    const std::int64_t sum = number * micros;
    if (part > most_ - sum || total_ > most_ - sum - part) return "too long";
    total_ += sum + part;
    return {};
  }

  std::string_view text_;
  std::int64_t most_;
  std::int64_t total_ = 0;
  std::size_t next_unit_ = 0;  // larger units were read, or left out
  bool had_fraction_ = false;
};

}  // namespace

Result<Duration> parse_duration(std::string_view text, DurationRange allowed) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, "'" + shown_briefly(text) + "' is not a duration: " + std::string(why) +
                                   "; write numbers with ms, s, m, h or d, such as 1.5s or 1h30m, from " +
                                   format_duration(allowed.least) + " to " + format_duration(allowed.most));
  };
  const auto micros = DurationReader(text, allowed.most).read();
  if (!micros) return bad(micros.error());
  if (Duration{*micros} < allowed.least) return bad("too short");
  return Duration{*micros};
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
