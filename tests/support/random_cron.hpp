// Random cron expressions, beside what they mean: the rules of docs/schedules-time.md a second time, with sets and a
// loop.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace fenceline::test {

// The same numbers everywhere, unlike those of std::uniform_int_distribution.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  // From `least` to `most`, both included.
  int between(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

struct RandomCron {
  std::string text;
  std::array<std::set<int>, 6> named;  // second, minute, hour, day, month, day of week (Sunday is 0)
  bool last_day = false;
  std::set<int> last_weekdays;
  std::set<std::pair<int, int>> nth_weekdays;                   // {1, 2}: the second Monday
  bool any_hour = false, any_day = false, any_weekday = false;  // the field begins with `*`

  bool matches(std::chrono::local_seconds at) const {
    using namespace std::chrono;
    const local_days today = floor<days>(at);
    const hh_mm_ss time{at - today};
    if (!named[0].contains(static_cast<int>(time.seconds().count())) ||
        !named[1].contains(static_cast<int>(time.minutes().count())))
      return false;
    if (!named[2].contains(static_cast<int>(time.hours().count()))) return false;
    const year_month_day date{today};
    if (!named[4].contains(static_cast<int>(static_cast<unsigned>(date.month())))) return false;
    const int day = static_cast<int>(static_cast<unsigned>(date.day())),
              weekday_number = static_cast<int>(weekday{today}.c_encoding());
    const bool by_date =
        named[3].contains(day) || (last_day && year_month_day{today + days{1}}.day() == std::chrono::day{1});
    const bool is_last = year_month_day{today + days{7}}.month() != date.month();
    const bool by_weekday = named[5].contains(weekday_number) || (is_last && last_weekdays.contains(weekday_number)) ||
                            nth_weekdays.contains({weekday_number, (day - 1) / 7 + 1});
    return any_day || any_weekday ? by_date && by_weekday : by_date || by_weekday;
  }
};

// The second is named once in `with_seconds` times (0: never). `daily`: of every day, so that a change of the clocks is
// among the next ticks.
inline RandomCron random_cron(Chance& chance, int with_seconds, bool daily = false) {
  static constexpr std::array<std::pair<int, int>, 6> ranges{{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}};
  static constexpr std::array<const char*, 12> months{"JAN", "feb", "Mar", "APR", "may", "Jun",
                                                      "JUL", "aug", "Sep", "OCT", "nov", "Dec"};
  static constexpr std::array<const char*, 7> weekdays{"SUN", "mon", "Tue", "WED", "thu", "Fri", "SAT"};
  RandomCron made;
  const bool seconds = with_seconds != 0 && chance.one_in(with_seconds);
  if (!seconds) made.named[0] = {0};
  for (std::size_t part = seconds ? 0 : 1; part < 6; ++part) {
    const auto [least, most] = ranges[part];
    const auto spelled = [&](int n) -> std::string {
      if (part == 4 && chance.one_in(4)) return months[static_cast<std::size_t>(n - 1)];
      if (part == 5 && chance.one_in(4)) return weekdays[static_cast<std::size_t>(n)];
      return std::to_string(n);
    };
    std::string field;
    bool any = false;
    const int stars = part == 0 ? 4 : part == 1 ? 4 : part == 2 ? 3 : 2;
    if (chance.one_in(stars) || (daily && part > 2)) {
      any = true;
      const int step = (!daily || part <= 2) && chance.one_in(3) ? chance.between(2, (most - least + 1) / 2) : 1;
      field = step == 1 ? "*" : "*/" + std::to_string(step);
      for (int n = least; n <= most; n += step) made.named[part].insert(n);
    } else {
      for (int items = chance.one_in(3) ? chance.between(2, 3) : 1; items > 0; --items) {
        if (!field.empty()) field += ",";
        const int kind = chance.between(1, 6), first = chance.between(least, most);
        if (part == 3 && kind == 1) {
          field += "L";
          made.last_day = true;
        } else if (part == 5 && kind == 1) {
          field += spelled(first) + "L";
          made.last_weekdays.insert(first);
        } else if (part == 5 && kind == 2) {
          const int nth = chance.between(1, 5);
          field += spelled(first) + "#" + std::to_string(nth);
          made.nth_weekdays.insert({first, nth});
        } else if (kind <= 4 && first < most) {
          const int last = chance.between(first + 1, most), step = chance.one_in(2) ? chance.between(2, 5) : 1;
          field += spelled(first) + "-" + spelled(last) + (step == 1 ? "" : "/" + std::to_string(step));
          for (int n = first; n <= last; n += step) made.named[part].insert(n);
        } else {
          field += spelled(first);
          made.named[part].insert(first);
        }
      }
    }
    if (part == 2) made.any_hour = any;
    if (part == 3) made.any_day = any;
    if (part == 5) made.any_weekday = any;
    made.text += (made.text.empty() ? "" : " ") + field;
  }
  return made;
}

}  // namespace fenceline::test
