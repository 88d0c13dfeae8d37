// What the checks of state.hpp share: the store, and what was read of it once for all of them. Each check is a function
// that judges and, where it must, asks for a few rows more.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "doctor/finding_list.hpp"
#include "doctor/state.hpp"
#include "doctor/text.hpp"

namespace fenceline::doctor {

using Findings = std::vector<Finding>;

// When a warning becomes bad.
inline constexpr Duration kStaleBad =
    std::chrono::minutes{1};  // a lease that ran out, or three ttls of its holder if that is more
inline constexpr Duration kUnservedBad = std::chrono::minutes{10};  // jobs that are due in a queue without a worker
inline constexpr Duration kQueueOld = std::chrono::minutes{10};     // warning: due jobs of a queue that is served
inline constexpr Duration kForAPersonBad = std::chrono::hours{1};   // what only a person can end
inline constexpr Duration kLockWaitLong = std::chrono::minutes{1};  // warning
inline constexpr Duration kScheduleLate = std::chrono::minutes{1};  // warning: as kTickOnTime
inline constexpr Duration kScheduleLateBad = std::chrono::minutes{10};
inline constexpr Duration kTtlDefault = std::chrono::seconds{30};
inline constexpr int kPage = 1000;
inline constexpr std::size_t kAttemptsAsked = 20;  // histories of jobs, in one check

struct StateLook {
  StateLook(Runtime& runtime_, Store& store_, const StateOptions& options_, Looked& looked_);

  // What several checks need. Errors: the store's.
  Result<void> read();

  bool has_time() const { return runtime.now() < until; }
  // Says so, too.
  void cut_short() { looked.cut = true; }
  std::int64_t depth(JobState state) const;
  const WorkerRow* worker(const std::string& owner) const;
  // What mends a worker that says nothing: it goes on if it hangs, and is forgotten if it died.
  std::string wake_or_forget(const WorkerRow& row) const;
  // Jobs as they are now, without payload; those that are not there are left out.
  Result<std::map<JobId, Job>> jobs_now(std::vector<JobId> ids) const;
  Findings told(FindingList list, std::string ok) const {
    return std::move(list).told(options.findings_most, std::move(ok));
  }

  Runtime& runtime;
  Store& store;
  const StateOptions& options;
  Looked& looked;
  const Instant until;
  WallTime now{};  // the store's
  std::vector<ScheduleRow> schedules;
  std::vector<Job> running;  // the first pages, in the order of enqueue
  std::vector<Job> waiting;  // the first page
};

inline bool has_expired(const Job& job) {
  return job.state == JobState::running && job.lease_left && *job.lease_left <= Duration{0};
}
inline Duration expired_for(const Job& job) { return job.lease_left ? -*job.lease_left : Duration{0}; }
// "job 0198... of queue mail".
std::string named(const Job& job);

Result<Findings> stale_jobs(StateLook& look);
Result<Findings> poison_jobs(StateLook& look);
Result<Findings> orphans(StateLook& look);
Result<Findings> beliefs(StateLook& look);
Result<Findings> workers_gone(StateLook& look);
Result<Findings> queue_age(StateLook& look);
Result<Findings> dead_letters(StateLook& look);
Result<Findings> effects_in_doubt(StateLook& look);
Result<Findings> groups_blocked(StateLook& look);
// Both from one reading of the locks.
struct LockFindings {
  Findings wait, debt;
};
Result<LockFindings> locks(StateLook& look);
Result<Findings> schedules_late(StateLook& look);
Result<Findings> schedules_ahead(StateLook& look);
Result<Findings> items_on_hold(StateLook& look);

}  // namespace fenceline::doctor
