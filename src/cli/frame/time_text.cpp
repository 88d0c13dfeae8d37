#include "cli/frame/time_text.hpp"

#include <ctime>
#include <optional>
#include <string>

#include "base/duration_text.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr int kYearLeast = 1970, kYearMost = 2199;

// Reads from the front; what was read is gone.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  // Exactly `digits` of them.
  std::optional<int> number(std::size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    int value = 0;
    for (const char c : text_.substr(0, digits)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(digits);
    return value;
  }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // The digits behind a point, as microseconds; what is finer is left out.
  std::optional<Duration> fraction() {
    std::int64_t micros = 0, unit = 100'000;
    bool any = false;
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') {
      micros += (text_.front() - '0') * unit;
      unit /= 10;
      any = true;
      text_.remove_prefix(1);
    }
    return any ? std::optional(Duration{micros}) : std::nullopt;
  }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

struct Parts {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

// In UTC, whatever zone the parts are meant in.
WallTime as_utc(const Parts& parts) {
  using namespace std::chrono;
  const sys_days day = year{parts.year} / parts.month / parts.day;
  return day + hours{parts.hour} + minutes{parts.minute} + seconds{parts.second};
}

bool is_on_the_calendar(const Parts& parts) {
  using namespace std::chrono;
  const year_month_day date{year{parts.year}, month{static_cast<unsigned>(parts.month)},
                            day{static_cast<unsigned>(parts.day)}};
  return date.ok() && parts.hour < 24 && parts.minute < 60 && parts.second < 60;
}

bool same(const std::tm& time, const Parts& parts) {
  return time.tm_year == parts.year - 1900 && time.tm_mon == parts.month - 1 && time.tm_mday == parts.day &&
         time.tm_hour == parts.hour && time.tm_min == parts.minute && time.tm_sec == parts.second;
}

// The first moment at which a clock on the wall shows this; empty: none does.
std::optional<WallTime> as_local(const Parts& parts) {
  std::optional<WallTime> first;
  for (const int summer : {1, 0}) {
    std::tm time{};
    time.tm_year = parts.year - 1900;
    time.tm_mon = parts.month - 1;
    time.tm_mday = parts.day;
    time.tm_hour = parts.hour;
    time.tm_min = parts.minute;
    time.tm_sec = parts.second;
    time.tm_isdst = summer;
    const std::time_t moment = std::mktime(&time);
    std::tm shown{};
    if (::localtime_r(&moment, &shown) == nullptr || !same(shown, parts)) continue;
    const WallTime found{std::chrono::seconds{moment}};
    if (!first || found < *first) first = found;
  }
  return first;
}

// "Z" or "+02:00", as what to take off; empty: neither.
std::optional<Duration> zone(Cursor& cursor) {
  if (cursor.take('Z') || cursor.take('z')) return Duration{0};
  const bool east = cursor.take('+');
  if (!east && !cursor.take('-')) return std::nullopt;
  const auto hours = cursor.number(2);
  if (!hours || *hours > 23 || !cursor.take(':')) return std::nullopt;
  const auto minutes = cursor.number(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const Duration offset = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
  return east ? offset : -offset;
}

}  // namespace

Result<WallTime> parse_time(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(
        Code::invalid,
        "'" + printable(text, 40) + "' is not a valid time: " + std::string(why) +
            "; write 2026-11-15T10:00:00Z, 2026-11-15T12:00:00+02:00 or, for this machine's zone, '2026-11-15 12:00'");
  };
  Cursor cursor(text);
  const auto year = cursor.number(4);
  const auto month = year && cursor.take('-') ? cursor.number(2) : std::nullopt;
  const auto day = month && cursor.take('-') ? cursor.number(2) : std::nullopt;
  if (!day) return bad("it does not start with a date");
  const bool spaced = cursor.take(' ');
  if (!spaced && !cursor.take('T') && !cursor.take('t')) return bad("the time of day is missing");
  const auto hour = cursor.number(2);
  const auto minute = hour && cursor.take(':') ? cursor.number(2) : std::nullopt;
  if (!minute) return bad("the time of day is missing");
  const bool with_seconds = cursor.take(':');
  const auto second = with_seconds ? cursor.number(2) : std::optional(0);
  if (!second) return bad("the seconds are missing");
  const auto fraction = with_seconds && cursor.take('.') ? cursor.fraction() : std::optional(Duration{0});
  if (!fraction) return bad("the digits after the point are missing");

  const Parts parts{*year, *month, *day, *hour, *minute, *second};
  if (!is_on_the_calendar(parts)) return bad("this day or time of day does not exist");
  if (parts.year < kYearLeast || parts.year > kYearMost) return bad("the year is not between 1970 and 2199");
  if (cursor.at_end()) {
    if (!spaced) return bad("the time zone is missing");
    if (const auto zone = unknown_zone())
      return bad("TZ '" + printable(*zone, 40) + "' is not a time zone of this machine");
    const std::optional<WallTime> local = as_local(parts);
    if (!local) return bad("clocks in this zone skip it (daylight saving time)");
    return *local + *fraction;
  }
  const std::optional<Duration> offset = zone(cursor);
  if (!offset || !cursor.at_end()) return bad("the text after the seconds is not a time zone");
  if (!with_seconds) return bad("the seconds are missing");
  return as_utc(parts) + *fraction - *offset;
}

Result<WallTime> parse_when(std::string_view text, WallTime now) {
  constexpr DurationRange kAgoRange{Duration{0}, std::chrono::days{3660}};
  if (const Result<Duration> ago = parse_duration(text, kAgoRange)) return now - *ago;
  const Result<WallTime> at = parse_time(text);
  if (at) return at;
  return fail(Code::invalid, in_quotes(text) +
                                 " is neither a time nor how long ago; write 2026-11-15T10:00:00Z, "
                                 "'2026-11-15 12:00' in this machine's zone, or 2h");
}

}  // namespace fenceline::cli
