// What people do to schedules. Each act reads the row, settles its account up to that moment under the rule that held
// until then, and changes it, in one step of the store that counts only if nobody else moved or changed the schedule
// since; else it is decided anew, a bounded number of times. So an edit changes only ticks after it, and a schedule
// that is removed and added again fires no tick twice.
//
// A schedule that cannot be read here (its zone is unknown, a newer version wrote it) can be edited, paused, resumed
// and removed all the same; its open ticks stay for one who can read it, and an edit ends them, as its reason in the
// trail says.
//
// A reply that was lost is asked for again with the same request. Safe to use from several threads.
#pragma once

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/schedule.hpp"
#include "runtime/runtime.hpp"
#include "services/schedule_steps.hpp"
#include "store/store.hpp"

namespace fenceline {

// Who acts, if nobody says.
inline const Act kByLibrary{.actor = "library", .reason = ""};

struct ScheduleActsOptions {
  std::string ns = "default";
  std::string place;  // "host:pid", for the history
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

// Errors of every act: not_found (no such schedule; put has none), invalid, conflict (others changed it all the time),
// unavailable, in_doubt, full, broken.
class ScheduleActs {
 public:
  // All references must outlive it. `stop` ends the pauses before repeats.
  ScheduleActs(Runtime& runtime, Store& store, ScheduleActsOptions options, std::stop_token stop = {});

  // Adds the schedule, or makes it what the spec says from now on; if it is that already nothing changes. A paused one
  // stays paused.
  Result<PutReport> put(const std::string& name, const ScheduleSpec& spec, const Act& act = kByLibrary);

  // Puts each that is not there as the list says; what the list does not name stays. Errors: invalid (one of them is;
  // nothing changed), and those of the store as a whole: unavailable, in_doubt, denied, broken.
  Result<ReconcileReport> reconcile(const std::vector<NamedSpec>& list, const Act& act = kByLibrary);
  // What reconcile would do; nothing changes.
  Result<ReconcileReport> foresee(const std::vector<NamedSpec>& list);

  // From now on no tick fires. The first pause stays. Where the store is full, ticks that are due do not fire, in a
  // pause and in a removal; a resume skips them. In doubt: also if somebody else changed it after a try whose answer
  // got lost.
  Result<ScheduleRow> pause(const std::string& name, const Act& act = kByLibrary);
  // Ticks since the pause are skipped; those from now on fire.
  Result<ScheduleRow> resume(const std::string& name, const Act& act = kByLibrary);
  Result<ScheduleRow> remove(const std::string& name, const Act& act = kByLibrary);

  // Opens the skipped ticks after `to` again: they fire or are skipped as the catch-up says, for those that fired
  // nothing happens. Errors: refused (`to` lies before what is remembered, or before the last edit; or no tick after it
  // was skipped).
  Result<ScheduleRow> rewind(const std::string& name, WallTime to, const Act& act = kByLibrary);

  // Enqueues a job now, beside all ticks; ${tick} is this moment.
  Result<JobId> run(const std::string& name, const Act& act = kByLibrary);

 private:
  enum class Decision { as_it_is, change, again };
  struct Seen {
    const ScheduleRow* row;  // null: there is none
    WallTime now;            // of the store
    bool doubtful;           // an earlier try may have happened, and was followed by a change of somebody else
  };

  // `decide` fills in the request.
  template <class Decide>
  Result<ChangeScheduleReply> change(const std::string& name, const Act& act, Decide decide);
  Result<ScheduleRow> settle_and(ScheduleChange what, const std::string& name, const Act& act,
                                 bool (*as_asked)(const ScheduleRow&));
  Result<void> settle(ChangeScheduleRequest& request, const ScheduleRow& row, WallTime now);
  // True if an account that lies ahead of the clock was moved back to it.
  Result<bool> back_to(WallTime now, const ScheduleRow& row);

  Runtime& runtime_;
  Store& store_;
  ScheduleActsOptions options_;
  std::string owner_;
  std::stop_token stop_;
};

Error no_such_schedule(const std::string& name, const std::string& ns);

}  // namespace fenceline
