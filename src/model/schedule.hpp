// The pure rules about a schedule: what may be declared, what its jobs are. The schedule as a value is public:
// fenceline/schedules.hpp. When its ticks are says tick_rule.hpp, which of them fire says tick_plan.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/schedules.hpp"
#include "model/job.hpp"

namespace fenceline {

// The lock whose holder looks after the schedules of a namespace (services/schedule_lead.hpp).
inline constexpr char kSchedulerLock[] = "fenceline:scheduler";

class TickRule;  // model/tick_rule.hpp

std::optional<CatchUp> parse_catch_up(std::string_view text);
std::optional<Overlap> parse_overlap(std::string_view text);

inline constexpr std::size_t kScheduleSpecBytesMax = 128 << 10;

// Ticks that do not fire: `count` of them from `first` to `last`, both of them ticks. Reasons:
//   window      older than the catch-up window
//   missed      nobody was there in time, and catch-up is none
//   superseded  a later one fired in its place (catch-up latest)
//   cap         more were open than may fire at once
//   overlap     a job of an earlier tick was unfinished
//   paused      the schedule was paused
struct SkippedTicks {
  WallTime first;
  WallTime last;
  std::int64_t count = 0;
  std::string reason;

  bool operator==(const SkippedTicks&) const = default;
};

// Errors: invalid, in one line that names the field.
inline Result<void> check_schedule_name(std::string_view name) { return check_name("schedule", name); }
Result<void> check_spec(const ScheduleSpec& spec);
Result<TickRule> rule_of(const ScheduleSpec& spec);

// The spec as one line of JSON and back: what stores keep. The same spec gives the same bytes. Errors: invalid (no
// spec, of a newer version).
std::string spec_text(const ScheduleSpec& spec);
Result<ScheduleSpec> parse_spec(std::string_view text);

// A template is JSON. In its strings ${tick} stands for the tick's instant ("2026-03-29T01:00:00Z"), ${tick.local} for
// the same in the schedule's zone, ${tick.unix} for seconds since 1970,
// ${schedule} for the name; $${ is a plain ${. Errors: invalid (no JSON, an unknown word).
Result<void> check_template(std::string_view payload);
std::string fill_template(const ScheduleSpec& spec, std::string_view schedule, WallTime tick);

// The job of a tick. Its run time is the tick's and the jitter; a run time that is past is now.
NewJob job_of_tick(const ScheduleSpec& spec, std::string_view schedule, WallTime tick, JobId id);

}  // namespace fenceline
