// What is durable about schedules: what they are, how far their ticks are accounted for, and what became of each. The
// rules for every verb of job_store.hpp hold here too, but for instants: a tick is one.
//
// The account. A store knows no calendar: callers say which instants are ticks (model/tick_plan.hpp). For each schedule
// the store keeps `resolved_to`: every tick up to there, it included, has ended as fired or as skipped for a reason,
// and none after it has, but for those that fired before the account was moved back. An account moves on in steps, each
// from where it stood and under the revision it was planned for: of several who all believe they lead one moves it, and
// the others are told where it stands.
//
// The tick. What makes S1 true is not the account, which can be moved back: a fired tick is a row (namespace, schedule,
// instant), there is at most one, and its job is enqueued in the step that writes it. Of rows that retention removed
// the largest instant stays as the schedule's `bar`: a tick at or before it counts as there. Of a schedule that is not
// removed it leaves those after resolved_to, whose neighbours may be open. Rows and bar belong to the name: they stay
// when the schedule is removed, and meet the next one of that name. What is left of a removed schedule is forgotten
// kRemovedScheduleKeptFor after the removal, if its bar and all its ticks are at least that old; the largest of these
// is the namespace's own bar, and that of every name it has no row for.
//
// Skipped ticks are ranges. One that follows upon a range of the same reason and the same spec (it ends after
// `counts_from`), with no row between, is joined to it.
//
// The clock. A step must not lead beyond the store's wall clock: no tick fires before its instant there. Every answer
// says what that clock shows, so that callers need none of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "model/schedule.hpp"
#include "store/job_store.hpp"
#include "store/reason.hpp"
#include "store/trail.hpp"

namespace fenceline {

inline constexpr int kSchedulesAtOnceMax = 1000;                 // in one request or page
inline constexpr Duration kTicksKeptFor = std::chrono::days{7};  // from their instant on
inline constexpr int kTicksKeptMost = 10'000;                    // rows of one schedule, the largest instants
inline constexpr Duration kRemovedScheduleKeptFor = std::chrono::days{30};
inline constexpr int kOverlapLooked = 10;  // how many of the last fired ticks are looked at for unfinished jobs

struct SchedulesRequest {
  std::string ns;
  // One of three ways: by these names (at most kSchedulesAtOnceMax, none twice), by name; those that are not there are
  // left out;
  std::vector<std::string> names;
  // what changed after that version, by version, removed ones included;
  std::optional<std::int64_t> changed_after;
  // else all, by name (bytewise), after that one.
  std::string after;
  bool unfinished = false;
  int limit = kSchedulesAtOnceMax;  // of the last two ways
  Duration timeout = kCallTimeout;
};

struct SchedulesReply {
  std::vector<ScheduleRow> schedules;
  bool more = false;
  std::int64_t version =
      0;  // the namespace's count of changes: whoever has seen all up to here asks for what changed after it
  WallTime now{};
};

struct FiredTick {
  WallTime tick;
  NewJob job;  // without a unique key

  bool operator==(const FiredTick&) const = default;
};

// The account of one schedule, moved on. Fired ticks ascend, skipped ones too; all lie after `from` and not after `to`,
// no fired one inside a skipped range.
struct TickStep {
  std::string schedule;
  std::int64_t revision = 0;
  WallTime from{};
  WallTime to{};
  std::vector<FiredTick> fired;
  std::vector<SkippedTicks> skipped;

  bool operator==(const TickStep&) const = default;
};

struct StepRequest {
  std::string ns;
  std::vector<TickStep> steps;  // at most kSchedulesAtOnceMax, no schedule twice, at most kBatchMax ticks fired in all
  std::string request;          // one try; a repeat after in_doubt carries the same
  std::string owner;            // who fires, for the history
  std::string place;            // "host:pid", at most kLockNoteBytesMax
  Duration timeout = kCallTimeout;
};

// Why a step was not taken, in the order in which they are looked for; nothing of it happened then:
//   not_found  no such schedule (never there, or removed)
//   changed    its revision is another one
//   moved      its account stands elsewhere: somebody else has moved it
//   early      `to` lies ahead of the store's clock
//   covers     a skipped range goes over a tick that fired
struct StepAnswer {
  Reason refused = Reason::none;     // none: taken, now or by the same request before
  std::vector<WallTime> duplicates;  // fired ticks of a step that was taken, which had fired before, or lie at or
                                     // before the bar: no job was added
  std::int64_t revision = 0;         // as they are now; 0: not found
  WallTime resolved_to{};
  WallTime fired_to{};

  bool operator==(const StepAnswer&) const = default;
};

struct StepReply {
  std::vector<StepAnswer> answers;  // in the order of the steps
  WallTime now{};
};

enum class ScheduleChange { put, pause, resume, remove, rewind, run };

// What a person does to a schedule, in one step with the account up to that moment.
struct ChangeScheduleRequest {
  std::string ns;
  std::string name;
  ScheduleChange change = ScheduleChange::put;
  std::int64_t revision = 0;     // of the row that the decision rests on; 0 (put only): there is none, or it is removed
  std::optional<TickStep> step;  // first: of this schedule and revision. Not for run or with revision 0
  std::string spec;              // put: what it is from now on
  WallTime to{};                 // rewind: not before `bar` and `counts_from`, and before resolved_to
  WallTime from{};               // rewind: resolved_to as it was seen
  std::optional<SkippedTicks>
      kept;  // rewind: what stays of the range that goes over `to`: its first tick and reason, and its ticks up to `to`
  std::optional<NewJob> job;  // run: enqueued now, beside all ticks; without a unique key
  std::string request;        // one try; a repeat after in_doubt carries the same
  std::string owner;          // for the history of the step
  std::string place;
  Act act;
  Duration timeout = kCallTimeout;
};

struct ChangeScheduleReply {
  ScheduleRow schedule;              // as it is now; `removed` says so
  std::vector<WallTime> duplicates;  // of the step
  WallTime now{};
};

struct TicksRequest {
  std::string ns;
  std::string schedule;
  bool fired_only = false;
  std::optional<WallTime> after;   // rows whose (first) tick is later
  std::optional<WallTime> before;  // and earlier: the cursor
  int limit = 100;                 // at most 1000
  Duration timeout = kCallTimeout;
};

struct TickRow {
  WallTime tick;
  WallTime last;  // of a range; a fired tick's is itself
  std::int64_t count = 1;
  std::string reason;  // empty: it fired
  std::optional<JobId> job;
  WallTime at;        // when, on the store's wall clock; of a range its last joining
  std::string owner;  // by whom; of a range the last
  std::string place;

  bool fired() const { return reason.empty(); }
  bool operator==(const TickRow&) const = default;
};

struct TicksReply {
  std::vector<TickRow> ticks;    // the largest first
  std::optional<WallTime> next;  // `before` of the page behind
};

class ScheduleStore {
 public:
  virtual ~ScheduleStore() = default;

  virtual Result<SchedulesReply> schedules(const SchedulesRequest& request) = 0;

  // Takes each step by itself, or says why not; all in one step of the store. The jobs of fired ticks are enqueued as
  // by enqueue, wake-ups included. A repeat of the request that moved an account last is answered as the first was, and
  // changes nothing. Errors: invalid, conflict (a job's id is there already), full.
  virtual Result<StepReply> step_ticks(const StepRequest& request) = 0;

  // put: sets the spec; ticks up to resolved_to stay as they are, ticks after it are those of the new one. Where there
  // was none, or a removed one, or resolved_to lies ahead of the store's clock after the step, it is that clock, and
  // ranges that end after it are gone. pause: the first pause stays. resume, remove. rewind: moves the account back:
  // ranges, and parts of them, that lie after `to` are gone, their ticks open again; fired ones stay. run: enqueues a
  // job. The trail: schedule_added, schedule_changed, schedule_paused, schedule_resumed, schedule_removed (subject:
  // NAME), schedule_rewound ("NAME 2026-11-16T10:00:00Z", where to), schedule_run ("NAME JOB"). Who watches orders of
  // the namespace is told. A repeat of the request that changed the schedule last, or moved its account last, is
  // answered as the first was. resume of one that is not paused is ok and changes nothing. Errors: invalid; not_found
  // (revision is not 0, and there is none); conflict (its revision is another one, its account stands elsewhere, it is
  // there though revision is 0, `kept` does not fit: read it again, decide again); refused (rewind beyond bar or
  // counts_from; a step that is early); full.
  virtual Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) = 0;

  // What became of ticks. Also of a removed schedule, while it is remembered.
  virtual Result<TicksReply> ticks(const TicksRequest& request) = 0;
};

}  // namespace fenceline
