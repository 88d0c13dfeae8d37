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
#include "fenceline/schedules.hpp"
#include "model/schedule.hpp"
#include "runtime/runtime.hpp"
#include "services/schedule_steps.hpp"
#include "store/store.hpp"

namespace fenceline {

struct ScheduleActsOptions {
  std::string ns = "default";
  std::string place;  // "host:pid", for the history
};

// What each act promises says ScheduleControl.
class ScheduleActs final : public ScheduleControl {
 public:
  // All references must outlive it. `stop` ends the pauses before repeats.
  ScheduleActs(Runtime& runtime, Store& store, ScheduleActsOptions options, std::stop_token stop = {});

  Result<PutReport> put(const std::string& name, const ScheduleSpec& spec, const Act& act = kByLibrary) override;
  Result<ReconcileReport> reconcile(const std::vector<NamedSpec>& list, const Act& act = kByLibrary) override;
  Result<ReconcileReport> dry_run(const std::vector<NamedSpec>& list) override;
  Result<ScheduleRow> pause(const std::string& name, const Act& act = kByLibrary) override;
  Result<ScheduleRow> resume(const std::string& name, const Act& act = kByLibrary) override;
  Result<ScheduleRow> remove(const std::string& name, const Act& act = kByLibrary) override;
  Result<ScheduleRow> rewind(const std::string& name, WallTime to, const Act& act = kByLibrary) override;
  Result<JobId> run(const std::string& name, const Act& act = kByLibrary) override;

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
