// From a schedule's row to the step that its account takes next: what the scheduler does when ticks are due, and what
// people's acts do first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/schedule.hpp"
#include "model/tick_plan.hpp"
#include "model/tick_rule.hpp"
#include "runtime/runtime.hpp"
#include "store/schedule_store.hpp"

namespace fenceline {

// Ticks that fired ahead of an account that was moved back, remembered so that not every step asks for them.
struct FiredAhead {
  std::vector<WallTime> ticks;    // the first of them, ascending
  std::optional<WallTime> until;  // all before it are among them; empty: they are all there are
};

// A row, and what its spec says. Of another row of the same revision only the row is new.
struct KnownSchedule {
  ScheduleRow row;
  ScheduleSpec spec;
  TickRule rule;
  std::optional<FiredAhead> fired_ahead{};  // empty: nobody has asked
};

// Errors: invalid (no spec, of a newer version, in a zone that is unknown here).
Result<KnownSchedule> known(ScheduleRow row);

struct PlannedStep {
  std::optional<TickStep> step;           // empty: no tick is open, and the account stands as far as it may
  std::optional<FiredAhead> fired_ahead;  // if it was asked for: to be remembered
  std::vector<JobId> cancel;  // to be cancelled before the step: a cancelled job of a tick that is fired by another one
                              // costs nothing, two that run at once do
};

// How far the step leads.
enum class StepEnd {
  last_tick,  // enough while the rule stays the same
  now,        // before a change: ticks of the next rule that lie before it are none
};

// The open ticks up to `now`, which is the store's. A paused schedule's are skipped. The row says what is unfinished,
// unless overlaps are allowed. Asks the store only if ticks ahead of the account have fired, and which is not
// remembered. Ticks up to the bar are neither fired nor skipped: nothing is known of them any more. Errors: those of
// ticks.
Result<PlannedStep> plan_step(Runtime& runtime, ScheduleStore& store, const std::string& ns,
                              const KnownSchedule& schedule, WallTime now, StepEnd end = StepEnd::last_tick);

// When its next tick is due; empty: it is paused, or has none.
std::optional<WallTime> due_at(const KnownSchedule& schedule);

// The rewind of an account to `to`, or as far as bar and the spec at hand let it; without request, owner, place and
// act. Empty: no tick between there and where it stands was skipped. Errors: those of ticks.
Result<std::optional<ChangeScheduleRequest>> take_back(ScheduleStore& store, const std::string& ns,
                                                       const KnownSchedule& schedule, WallTime to);

}  // namespace fenceline
