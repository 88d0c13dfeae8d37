// When a schedule's ticks are (S3). Pure: instants come in and go out, no clock is asked.
//
// An expression with named hours ticks once for each time that it names: when the clocks of its zone first show that
// time or a later one. So what a gap leaves out is one tick at the gap's end, and of a repeated hour only the first
// counts. An expression whose hour field begins with
// `*` ticks at every instant at which the clocks show a time that it names: nothing in a gap, both times in a repeated
// hour. An interval knows no clocks on walls. No tick lies before 1970 or after kRunAtMost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline {

// A value; copies share what they are made of. Safe to use from several threads.
class TickRule {
 public:
  // See parse_cron() for the expression; `zone` is an IANA name, and empty means UTC. Errors: invalid, in one line.
  static Result<TickRule> cron(std::string_view expression, std::string_view zone);

  // Ticks at anchor + k * interval for every whole k, negative ones too. 1 s to 366 d, in whole seconds; the anchor of
  // 1970 to 2200. Errors: invalid.
  static Result<TickRule> every(Duration interval, WallTime anchor);

  // The first tick after `after`.
  std::optional<WallTime> next(WallTime after) const;

  // The last tick that is later than `after` and not later than `until`.
  std::optional<WallTime> last(WallTime after, WallTime until) const;

  // How many ticks are later than `after` and not later than `until`. The cost grows with the months between, not with
  // the ticks.
  std::int64_t count(WallTime after, WallTime until) const;

  // "UTC" for an interval.
  const std::string& zone() const;

  // The expression as it was written, or "every 90s from 2026-11-16T10:00:00Z".
  const std::string& text() const;

  // The same text in the same zone.
  bool operator==(const TickRule& other) const;

 private:
  struct Parts;
  explicit TickRule(std::shared_ptr<const Parts> parts);
  std::shared_ptr<const Parts> parts_;
};

}  // namespace fenceline
