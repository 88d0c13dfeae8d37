// Schedules for C++ programs: ticks that enqueue one job each, exactly once, whichever worker leads
// (docs/schedules.md).
//
//   fenceline::ScheduleSpec nightly;
//   nightly.cron = "30 2 * * *";
//   nightly.zone = "Europe/Berlin";
//   nightly.queue = "reports";
//   auto put = client->schedules().put("nightly", nightly);   // adds it, edits it, or leaves it as it is
//   if (!put) std::cerr << put.error().message << "\n";
//
// Every worker of the namespace takes part in firing, unless WorkOptions::schedules is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/act.hpp"
#include "fenceline/job.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

// What happens to ticks that were not fired in time.
enum class CatchUp {
  all,     // each fires, oldest first
  latest,  // the last one fires, the others are skipped
  none,    // all are skipped
};
std::string_view to_string(CatchUp catch_up);

// What becomes of a tick while a job of an earlier one is unfinished.
enum class Overlap {
  allow,           // it fires
  skip,            // it is skipped
  queue_one,       // it fires if no other one waits: one runs, one waits, the rest is skipped
  cancel_running,  // the earlier jobs are cancelled, and it fires
};
std::string_view to_string(Overlap overlap);  // "queue-one"

inline constexpr Duration kCatchUpWindowDefault = std::chrono::days{1};
inline constexpr int kCatchUpCapDefault = 100;
inline constexpr int kCatchUpCapMost = 1000;
inline constexpr std::size_t kTemplateBytesMax = 64 << 10;

// What a person says of a schedule.
struct ScheduleSpec {
  std::string cron;          // an expression; or empty, and then
  Duration every{0};         // an interval, whole seconds, 1 s to 366 d
  WallTime anchor{};         // from which the interval counts, a whole second
  std::string zone = "UTC";  // of the expression: an IANA name
  Duration jitter{0};  // a job's run time lies up to this much after its tick, the same for a tick whoever fires it; at
                       // most 24 h
  std::optional<WallTime> starts;  // no tick before this moment
  std::optional<WallTime> ends;    // nor after that one
  CatchUp catch_up = CatchUp::latest;
  Duration window = kCatchUpWindowDefault;  // older ticks are skipped; 1 min to 30 d
  int cap = kCatchUpCapDefault;             // at most this many fire at once, the newest ones; 1 to kCatchUpCapMost
  Overlap overlap = Overlap::allow;

  std::string queue;
  std::string stage;
  // JSON, a template: in its strings ${tick} stands for the tick's instant ("2026-03-29T01:00:00Z"), ${tick.local} for
  // the same in the schedule's zone, ${tick.unix} for seconds since 1970, ${schedule} for the name; $${ is a plain ${.
  std::string payload = "null";
  int priority = 0;
  int attempts_max = kAttemptsMaxDefault;
  Duration timeout{0};
  std::string group;  // empty: none, or for queue_one and cancel_running one of its own, "schedule:NAME", so that two
                      // never run at once
  std::string limit_key;
  std::vector<std::string> tags;  // sorted, none twice; its jobs have "schedule:NAME" too

  bool operator==(const ScheduleSpec&) const = default;
};

struct SchedulePause {
  WallTime at;
  std::string by;
  std::string reason;

  bool operator==(const SchedulePause&) const = default;
};

struct UnfinishedRun {
  WallTime tick;
  JobId job;
  JobState state = JobState::ready;

  bool operator==(const UnfinishedRun&) const = default;
};

// What a store knows of a schedule.
struct ScheduleRow {
  std::string name;
  std::string spec;           // the ScheduleSpec as one line of JSON
  std::int64_t revision = 0;  // grows by one with every change but `run`, for a name never the same again: one that is
                              // not remembered begins at its version
  std::int64_t version = 0;   // the namespace's count of changes at its last one
  WallTime resolved_to{};     // every tick up to here has ended, as fired or skipped
  WallTime counts_from{};     // where this spec began to count: resolved_to at its put
  WallTime fired_to{};        // no tick after it ever fired; the bar counts
  WallTime bar{};             // the largest tick whose record was removed by retention
  std::optional<SchedulePause> paused;
  bool removed = false;
  WallTime created_at{};
  WallTime changed_at{};
  std::vector<UnfinishedRun> unfinished;  // if asked for: among the last fired ticks not after the store's clock, those
                                          // whose job is there and unfinished; ascending

  bool operator==(const ScheduleRow&) const = default;
};

enum class PutOutcome { added, changed, same };

struct PutReport {
  PutOutcome outcome = PutOutcome::same;
  ScheduleRow schedule;
};

struct NamedSpec {
  std::string name;
  ScheduleSpec spec;
};

struct FailedPut {
  std::string name;
  Error error;
};

struct ReconcileReport {
  std::vector<std::string> added, changed, same;  // names, in the order of the list
  std::vector<FailedPut> failed;  // those that stay as they are (conflict, full and the like): the others were put

  std::vector<std::string>& names_of(PutOutcome outcome) {
    return outcome == PutOutcome::added ? added : outcome == PutOutcome::changed ? changed : same;
  }
};

// What people do to schedules; Client::schedules() has one. An edit changes only ticks after it, and a schedule that is
// removed and added again fires no tick twice. A reply that was lost is asked for again with the same request: an act
// happens once. Safe to use from several threads.
//
// A schedule that cannot be read here (its zone is unknown, a newer version wrote it) can still be edited, paused,
// resumed and removed; its open ticks stay for a worker that can read it, and an edit ends them.
//
// Errors of every act: not_found (no such schedule; not from put), invalid, conflict (too many concurrent changes; try
// again), unavailable, in_doubt, full, broken.
class ScheduleControl {
 public:
  virtual ~ScheduleControl() = default;

  // Adds the schedule, or makes it what the spec says from now on; if it is that already nothing changes. A paused one
  // stays paused.
  virtual Result<PutReport> put(const std::string& name, const ScheduleSpec& spec, const Act& act = kByLibrary) = 0;

  // Puts each that differs from the list; schedules that the list does not name stay. Errors: invalid (one of them is;
  // nothing changed), and those of the store as a whole: unavailable, in_doubt, denied, broken.
  virtual Result<ReconcileReport> reconcile(const std::vector<NamedSpec>& list, const Act& act = kByLibrary) = 0;
  // What reconcile would do; nothing changes.
  virtual Result<ReconcileReport> dry_run(const std::vector<NamedSpec>& list) = 0;

  // From now on no tick fires. The first pause stays. Where the store is full, ticks that are due do not fire, in a
  // pause and in a removal; a resume skips them. In doubt: also if somebody else changed it after a try whose answer
  // got lost.
  virtual Result<ScheduleRow> pause(const std::string& name, const Act& act = kByLibrary) = 0;
  // Ticks since the pause are skipped; those from now on fire.
  virtual Result<ScheduleRow> resume(const std::string& name, const Act& act = kByLibrary) = 0;
  virtual Result<ScheduleRow> remove(const std::string& name, const Act& act = kByLibrary) = 0;

  // Opens the skipped ticks after `to` again: they fire or are skipped as the catch-up says; nothing happens for those
  // that fired. Errors: refused (`to` lies before what is remembered, or before the last edit; or no tick after it was
  // skipped).
  virtual Result<ScheduleRow> rewind(const std::string& name, WallTime to, const Act& act = kByLibrary) = 0;

  // Enqueues a job now, beside all ticks; ${tick} is this moment.
  virtual Result<JobId> run(const std::string& name, const Act& act = kByLibrary) = 0;
};

}  // namespace fenceline
