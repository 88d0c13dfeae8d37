// A cron expression as sets: which days it names, and which seconds of a day. What a time zone makes of them is
// tick_rule.hpp's.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace fenceline {

inline constexpr std::size_t kCronBytesMax = 256;

struct Cron {
  std::uint64_t seconds = 0, minutes = 0;  // bit n: n
  std::uint32_t hours = 0;
  std::uint32_t days = 0, months = 0;           // from bit 1
  bool last_day = false;                        // L
  std::uint32_t weekdays = 0;                   // bit 0: Sunday
  std::uint32_t last_weekdays = 0;              // 5L
  std::array<std::uint32_t, 7> nth_weekdays{};  // 1#2: bit 2 of [1]
  bool either_day = false;                      // neither day field begins with `*`: a day of one of them will do
  bool elapsed = false;  // the hour field begins with `*`: ticks follow elapsed time, not the clock on the wall

  bool operator==(const Cron&) const = default;
};

// Five fields, six with seconds first, or a short form ("@daily"), at most 256 bytes; docs/schedules-time.md has the
// language as a table. Some day of some year matches. Errors: invalid, in one line: which field, what stands there,
// what is allowed.
Result<Cron> parse_cron(std::string_view expression);

// The days of a month that match: bit 1 is the first.
std::uint32_t matching_days(const Cron& cron, std::chrono::year_month month);

}  // namespace fenceline
