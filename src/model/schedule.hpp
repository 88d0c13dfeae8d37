// A schedule as a value, and the pure rules about it: what may be declared, what its jobs are. When its ticks are says
// tick_rule.hpp, which of them fire says tick_plan.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"

namespace fenceline {

// The lock whose holder looks after the schedules of a namespace (services/schedule_lead.hpp).
inline constexpr char kSchedulerLock[] = "fenceline:scheduler";

class TickRule;  // model/tick_rule.hpp

// What becomes of ticks that nobody fired in time.
enum class CatchUp {
  all,     // each fires, oldest first
  latest,  // the last one fires, the others are skipped
  none,    // all are skipped
};
std::string_view to_string(CatchUp catch_up);
std::optional<CatchUp> parse_catch_up(std::string_view text);

// What becomes of a tick while a job of an earlier one is unfinished.
enum class Overlap {
  allow,           // it fires
  skip,            // it is skipped
  queue_one,       // it fires if no other one waits: one runs, one waits, the rest is skipped
  cancel_running,  // the earlier jobs are cancelled, and it fires
};
std::string_view to_string(Overlap overlap);  // "queue-one"
std::optional<Overlap> parse_overlap(std::string_view text);

inline constexpr Duration kCatchUpWindowDefault = std::chrono::days{1};
inline constexpr int kCatchUpCapDefault = 100;
inline constexpr int kCatchUpCapMost = 1000;
inline constexpr std::size_t kTemplateBytesMax = 64 << 10;
inline constexpr std::size_t kScheduleSpecBytesMax = 128 << 10;

// What a person says of a schedule.
struct ScheduleSpec {
  std::string cron;          // an expression; or empty, and then
  Duration every{0};         // an interval, whole seconds, 1 s to 366 d
  WallTime anchor{};         // from which the interval counts, a whole second
  std::string zone = "UTC";  // of the expression
  Duration jitter{
      0};  // a job's run time lies up to so much after its tick, the same for a tick whoever fires it; at most 24 h
  std::optional<WallTime> starts;  // no tick before this moment
  std::optional<WallTime> ends;    // nor after that one
  CatchUp catch_up = CatchUp::latest;
  Duration window = kCatchUpWindowDefault;  // older ticks are skipped; 1 min to 30 d
  int cap = kCatchUpCapDefault;             // at most so many fire at once, the newest ones; 1 to kCatchUpCapMost
  Overlap overlap = Overlap::allow;

  std::string queue;
  std::string stage;
  std::string payload = "null";  // a template: see fill_template
  int priority = 0;
  int attempts_max = kAttemptsMaxDefault;
  Duration timeout{0};
  std::string group;  // empty: none, or for queue_one and cancel_running one of its own, "schedule:NAME", so that two
                      // never run at once
  std::string limit_key;
  std::vector<std::string> tags;  // sorted, none twice; its jobs have "schedule:NAME" too

  bool operator==(const ScheduleSpec&) const = default;
};

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
