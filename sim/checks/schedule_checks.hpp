// Watches every call about schedules that takes effect in the store and says which promise an answer breaks: S1 (no
// tick fires twice, each with one job), S2 (every tick ends as fired or skipped, and no other instant does), S3 (none
// before its instant, ranges open again after a rewind, fired ticks stay); and that retention takes nothing too early
// and leaves a bar. Keeps what must be true by the words of store/schedule_store.hpp; shares no code with a store. When
// ticks are says TickRule.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/schedule_steps.hpp"
#include "sim/checks/violations.hpp"
#include "sim/store/applied.hpp"
#include "sim/store/tally.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

// What must be true of the schedules of a store at one moment: a value, so that the checks can go back with a store
// that forgot.
struct ScheduleTruth {
  struct KnownAccount {
    std::optional<KnownSchedule> schedule;  // as it is now; empty: removed
    std::int64_t revision = 0;
    std::map<WallTime, JobId> fired;           // of this name, for ever
    std::set<WallTime> tidied;                 // of those: retention took their rows
    std::map<WallTime, SkippedTicks> skipped;  // rows, by their first tick
    WallTime bar{};
    WallTime gone_to{};  // the last tick of all rows that retention took
    WallTime removed_at{};
    bool forgotten = false;   // after it was removed
    std::string last_change;  // requests: a repeat changes nothing
    std::string last_move;
  };

  std::map<std::string, KnownAccount> accounts_;
  std::set<JobId> run_;  // jobs that somebody asked for, beside all ticks
  WallTime bar_{};       // of names that the store does not know
};

class ScheduleChecks final : private ScheduleTruth {
 public:
  // `store` is the real one, to look at without being seen. All must outlive it.
  ScheduleChecks(std::string ns, Store& store, Violations& violations, Tally& tally)
      : ns_(std::move(ns)), store_(store), violations_(violations), tally_(tally) {}

  // Calls that are about something else are passed over.
  void applied(const Applied& applied);

  // The history that the store shows, against what must be true and against the ticks of each expression: fired and
  // skipped, each of a range counted, are all of them. `jobs`: all of schedules that the store has, each of which has
  // one tick; `tidied`: those that retention took.
  void compare_all(const std::set<JobId>& jobs, const std::set<JobId>& tidied);
  // S2, in fine weather: the account of every schedule in force stands at its last tick before `until`.
  void all_ended(WallTime until);
  // Ticks of a schedule near these moments are counted: clocks on walls were changed there.
  void clocks_change_at(std::string zone, WallTime at) { changes_.emplace_back(std::move(zone), at); }

  // So many rows and schedules went in the tidying that was seen last.
  std::int64_t tidied() const { return tidied_; }

  const ScheduleTruth& truth() const { return *this; }
  void went_back(const ScheduleTruth& before) { static_cast<ScheduleTruth&>(*this) = before; }

 private:
  // As the store shows them.
  struct Rows {
    std::map<WallTime, JobId> fired;
    std::map<WallTime, SkippedTicks> skipped;
    std::int64_t count = 0;
  };

  template <class Request, class Reply>
  void see(const Applied&, const Call<Request, Reply>&) {}  // not about schedules
  void see(const Applied& when, const StepCall& call);
  void see(const Applied& when, const ChangeScheduleCall& call);
  void see(const Applied& when, const TidyCall& call);

  void see_step(const Applied& when, KnownAccount& account, const TickStep& step,
                const std::vector<WallTime>& duplicates);
  void see_fired(KnownAccount& account, const TickStep& step, const FiredTick& fired, bool duplicate);
  void see_skipped(const KnownAccount& account, const TickStep& step, const SkippedTicks& range);
  static void add_skipped(KnownAccount& account, const SkippedTicks& range);
  // Retention (schedule_retention_checks.cpp): rows of one name, and what is left of those that were removed.
  void see_tidied(const Applied& when, const std::string& name, KnownAccount& account);
  void see_forgotten(const Applied& when);
  Rows rows_of(const std::string& name) const;
  void see_refused(const Applied& when, const KnownAccount* account, const TickStep& step, const StepAnswer& answer);
  void see_put(const Applied& when, KnownAccount& account, const ChangeScheduleCall& call);
  void see_rewound(KnownAccount& account, const ChangeScheduleRequest& request);
  void compare(const std::string& name, const KnownAccount& account, const std::set<JobId>& jobs,
               const std::set<JobId>& tidied);
  void broken(std::string_view promise, const std::string& schedule, const std::string& what);

  std::string ns_;
  Store& store_;
  Violations& violations_;
  Tally& tally_;
  std::vector<std::pair<std::string, WallTime>> changes_;  // zone and moment
  std::int64_t tidied_ = 0;
};

}  // namespace fenceline::sim
