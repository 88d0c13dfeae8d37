#include "model/cron_civil.hpp"

#include <bit>

namespace fenceline {
namespace {

using namespace std::chrono;

constexpr int kDaySeconds = 86'400;

bool has(std::uint64_t set, int n) { return (set >> n & 1U) != 0; }
std::uint64_t below(std::uint64_t set, int n) { return set & ((std::uint64_t{1} << n) - 1); }
std::uint64_t from(std::uint64_t set, int n) { return n > 63 ? 0 : set >> n << n; }
int least(std::uint64_t set) { return std::countr_zero(set); }
int most(std::uint64_t set) { return 63 - std::countl_zero(set); }

// The seconds of a day that match; no set is empty.
class TimesOfDay {
 public:
  explicit TimesOfDay(const Cron& cron) : hours_(cron.hours), minutes_(cron.minutes), seconds_(cron.seconds) {}

  // How many come before this second of the day, which may be the day's end.
  std::int64_t count_before(int second) const {
    const int h = second / 3600, m = second / 60 % 60, s = second % 60;
    const std::int64_t a_minute = std::popcount(seconds_), an_hour = a_minute * std::popcount(minutes_);
    std::int64_t count = std::popcount(below(hours_, h)) * an_hour;
    if (!has(hours_, h)) return count;
    count += std::popcount(below(minutes_, m)) * a_minute;
    return has(minutes_, m) ? count + std::popcount(below(seconds_, s)) : count;
  }

  std::optional<int> first_from(int second) const {
    const int h = second / 3600, m = second / 60 % 60, s = second % 60;
    if (has(hours_, h)) {
      if (const std::uint64_t rest = from(seconds_, s); has(minutes_, m) && rest != 0) return at(h, m, least(rest));
      if (const std::uint64_t rest = from(minutes_, m + 1); rest != 0) return at(h, least(rest), least(seconds_));
    }
    const std::uint64_t rest = from(hours_, h + 1);
    return rest == 0 ? std::nullopt : std::optional(at(least(rest), least(minutes_), least(seconds_)));
  }

  std::optional<int> last_before(int second) const {
    const int h = second / 3600, m = second / 60 % 60, s = second % 60;
    if (has(hours_, h)) {
      if (const std::uint64_t rest = below(seconds_, s); has(minutes_, m) && rest != 0) return at(h, m, most(rest));
      if (const std::uint64_t rest = below(minutes_, m); rest != 0) return at(h, most(rest), most(seconds_));
    }
    const std::uint64_t rest = below(hours_, h);
    return rest == 0 ? std::nullopt : std::optional(at(most(rest), most(minutes_), most(seconds_)));
  }

 private:
  static int at(int h, int m, int s) { return (h * 60 + m) * 60 + s; }

  std::uint64_t hours_, minutes_, seconds_;
};

year_month month_of(local_days day) {
  const year_month_day date{day};
  return date.year() / date.month();
}

// The matching days of a month that lie in [from, to).
std::uint64_t days_within(const Cron& cron, year_month month, local_days from_day, local_days to_day) {
  std::uint64_t days = matching_days(cron, month);
  if (days == 0) return 0;
  const local_days first{month / 1};
  if (from_day > first) days = from(days, 1 + static_cast<int>((from_day - first).count()));
  if (to_day < first + std::chrono::days{31}) days = below(days, 1 + static_cast<int>((to_day - first).count()));
  return days;
}

std::optional<local_days> first_day(const Cron& cron, local_days from_day, local_days to_day) {
  for (year_month month = month_of(from_day); local_days{month / 1} < to_day; month += months{1}) {
    if (const std::uint64_t found = days_within(cron, month, from_day, to_day); found != 0)
      return local_days{month / least(found)};
  }
  return std::nullopt;
}

std::optional<local_days> last_day(const Cron& cron, local_days from_day, local_days to_day) {
  for (year_month month = month_of(to_day - days{1}); local_days{month / last} >= from_day; month -= months{1}) {
    if (const std::uint64_t found = days_within(cron, month, from_day, to_day); found != 0)
      return local_days{month / most(found)};
  }
  return std::nullopt;
}

bool matches_day(const Cron& cron, local_days day) { return first_day(cron, day, day + days{1}).has_value(); }

int second_of_day(CivilTime time) { return static_cast<int>((time - floor<days>(time)).count()); }

}  // namespace

std::optional<CivilTime> first_match(const Cron& cron, CivilTime from, CivilTime to) {
  if (from >= to) return std::nullopt;
  const TimesOfDay times(cron);
  const local_days today = floor<days>(from);
  const auto within = [&](std::optional<CivilTime> found) { return found && *found < to ? found : std::nullopt; };
  if (matches_day(cron, today)) {
    if (const auto second = times.first_from(second_of_day(from))) return within(today + seconds{*second});
  }
  const auto day = first_day(cron, today + days{1}, ceil<days>(to));
  return day ? within(*day + seconds{*times.first_from(0)}) : std::nullopt;
}

std::optional<CivilTime> last_match(const Cron& cron, CivilTime from, CivilTime to) {
  if (from >= to) return std::nullopt;
  const TimesOfDay times(cron);
  const local_days today = floor<days>(to);
  const auto within = [&](std::optional<CivilTime> found) { return found && *found >= from ? found : std::nullopt; };
  if (matches_day(cron, today)) {
    if (const auto second = times.last_before(second_of_day(to))) return within(today + seconds{*second});
  }
  const auto day = last_day(cron, floor<days>(from), today);
  return day ? within(*day + seconds{*times.last_before(kDaySeconds)}) : std::nullopt;
}

std::int64_t count_matches(const Cron& cron, CivilTime from, CivilTime to) {
  if (from >= to) return 0;
  const TimesOfDay times(cron);
  const local_days first = floor<days>(from), end = floor<days>(to);
  std::int64_t whole_days = 0;
  for (year_month month = month_of(first); local_days{month / 1} < end; month += months{1})
    whole_days += std::popcount(days_within(cron, month, first, end));
  std::int64_t count = whole_days * times.count_before(kDaySeconds);
  if (matches_day(cron, first)) count -= times.count_before(second_of_day(from));
  if (matches_day(cron, end)) count += times.count_before(second_of_day(to));
  return count;
}

}  // namespace fenceline
