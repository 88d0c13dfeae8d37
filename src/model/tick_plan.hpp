// Which of a schedule's open ticks fire, and which are skipped, and why. Pure: `now` is the store's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/schedule.hpp"
#include "model/tick_rule.hpp"

namespace fenceline {

// A tick that is fired within this of its instant was on time: it fires under every catch-up. It covers a change of the
// leader.
inline constexpr Duration kTickOnTime = std::chrono::minutes{1};

struct TickPlan {
  std::vector<WallTime> fire;      // ascending
  std::vector<SkippedTicks> skip;  // ascending, disjoint, none over a tick that fires or fired
  std::optional<WallTime> to;      // the last tick up to now, those that fired before included; empty: there is none
  bool cancel_unfinished = false;  // before they fire
};

struct PlanFacts {
  WallTime resolved_to;  // all ticks up to here have ended
  WallTime now;          // of the store
  std::vector<WallTime>
      fired;  // ticks after resolved_to, and not after now, that fired before the account was moved back; ascending
  int unfinished_waiting = 0;  // jobs of earlier ticks: ready or waiting
  int unfinished_running = 0;
};

// Work is bounded whatever the time between: at most spec.cap ticks are looked at one by one, the others counted.
TickPlan plan_ticks(const ScheduleSpec& spec, const TickRule& rule, const PlanFacts& facts);

// All open ticks as skipped for one reason: what a pause leaves behind.
TickPlan skip_ticks(const ScheduleSpec& spec, const TickRule& rule, const PlanFacts& facts, std::string reason);

// The first tick after `after` that the schedule has, its start and end regarded.
std::optional<WallTime> next_tick(const ScheduleSpec& spec, const TickRule& rule, WallTime after);

}  // namespace fenceline
