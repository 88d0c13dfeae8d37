// What people do to jobs and queues: cancel, retry, pause, purge, settings, and the looks that explain them. Each act
// stands in the trail, written in its own step.
//
// The rules for every verb of job_store.hpp hold here too.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/listing.hpp"
#include "model/fence.hpp"
#include "model/job.hpp"
#include "store/job_store.hpp"
#include "store/reason.hpp"
#include "store/trail.hpp"

namespace fenceline {

struct ActRequest {
  std::string ns;
  std::vector<JobId> ids;        // at most kBatchMax, none twice
  std::string request;           // one try; a repeat after in_doubt carries the same
  std::optional<JobState> only;  // a job that is in another state stays as it is, and is refused
  Act act;
  Duration timeout = kCallTimeout;
};

// Why an act on a job changed nothing. Reasons:
//   not_found  no such job in this namespace
//   state      it is not in the state `only`
//   finished   (cancel) it is done or dead; (retry) it is done: enqueue it anew
//   key_taken  (retry) `holder` has its unique key
//   effect_in_doubt  (retry) it waits for an effect: say first what became of that
struct ActRefusal {
  JobId id;
  Reason reason = Reason::none;
  std::optional<JobId> holder;

  bool operator==(const ActRefusal&) const = default;
};

struct ActReply {
  std::vector<ActRefusal> refused;  // the others are now as asked for
};

inline constexpr int kLimitMost = 10'000;
inline constexpr std::size_t kHoldersShown = 10;  // of a limit, and quiet workers, in JobFacts

// What is empty stays as it is.
struct QueueChange {
  std::optional<int> limit;
  std::optional<int> limit_per_key;
  std::optional<Duration> keep_done;
  std::optional<Duration> keep_dead;
};

struct SetQueueRequest {
  std::string ns;
  std::string queue;
  QueueChange change;
  Act act;
  Duration timeout = kCallTimeout;
};

struct PauseRequest {
  std::string ns;
  std::string queue;
  bool paused = true;  // false: resume
  Act act;
  Duration timeout = kCallTimeout;
};

inline constexpr std::int64_t kAllOfThem = std::numeric_limits<std::int64_t>::max();

struct PurgeRequest {
  std::string ns;
  std::string queue;
  std::int64_t after = 0;  // cursor of the step before; 0: from the oldest
  std::int64_t up_to =
      0;  // QueueRow::newest as it was when somebody decided, or kAllOfThem: what came later stays, also at a repeat
  int limit = 1000;  // jobs in one step, at most kBatchMax
  Act act;
  Duration timeout = kCallTimeout;
};

struct PurgeReply {
  std::int64_t cancelled = 0;
  bool more = false;
  std::int64_t next = 0;  // cursor behind the last of them
};

struct TidyRequest {
  std::string ns;
  int limit = 1000;  // jobs in one step, at most kBatchMax
  Duration timeout = kCallTimeout;
};

struct TidyReply {
  std::int64_t removed = 0;
  bool more = false;
};

// Above the store's own last fence and floor, a floor may lie so far ahead of the wall clock.
inline constexpr Duration kFloorAheadMost = std::chrono::days{1};

struct RaiseFloorRequest {
  std::string ns;   // whose operator did it, for the trail; the floor is the whole store's
  Fence floor = 0;  // 1 to kFenceMax - 1
  Act act;
  Duration timeout = kCallTimeout;
};

// All that `job explain` speaks of, as it stood at one moment.
struct JobFacts {
  Job job;
  std::optional<Duration> due_in;    // ready, and its time lies that far ahead
  std::optional<QueuePause> paused;  // of its queue
  // The next six are of ready and waiting jobs only; holders in the order of their enqueue, revoked deliveries
  // included.
  std::optional<JobId> group_head;  // another job: the one of its group that has its slot, or else comes first
  bool group_head_revoked =
      false;      // it was cancelled, retried or made to wait, and its worker has not said stopped yet
  int limit = 0;  // of the queue, if reached: by these, at most kHoldersShown of them
  std::vector<JobId> limit_holders;
  int limit_per_key = 0;  // the same for its limit key
  std::vector<JobId> limit_key_holders;
  std::optional<JobId> key_holder;    // finished jobs: who has their unique key now; perhaps itself, for its key_for
  std::optional<Duration> slot_left;  // its delivery was revoked or made to wait, and keeps its slot so long at most
  bool must_run_alone = false;        // unfinished jobs; an expired one counts the loss at hand
  std::int64_t workers = 0;  // seen within their ttl, that serve its queue and stage and are neither quiet nor stopping
  std::vector<std::string> effects_in_doubt;  // of a waiting job: the names of those that it waits for, sorted
  std::vector<std::string>
      quiet_workers;  // owners of those that are quiet, by start, then owner; at most kHoldersShown

  bool operator==(const JobFacts&) const = default;
};

// An act on jobs leaves one entry in the trail for each job that it changed; a job that is as asked for already is ok,
// and neither that nor the repeat of an act leaves one. cancel and retry answer `refused` if fences are used up.
class JobControl {
 public:
  virtual ~JobControl() = default;

  // Unfinished jobs become cancelled; one that runs, or waits and was granted before, under a new fence at once and no
  // owner. What it held of group and limits stays taken until its worker says stopped or its lease would have ended.
  // Already cancelled: ok.
  virtual Result<ActReply> cancel(const ActRequest& request) = 0;

  // Makes jobs claimable now: a dead or cancelled one becomes ready with no failures and no losses in a row, and if it
  // has a group takes the last place in it; a ready one loses its delay; a running one is revoked as by cancel, and
  // ready again when its slot is free. Each job that is changed has its run time now; one that could be claimed as it
  // is, or waits for a gate, stays as it is; one that waits for an effect in doubt is refused. The repeat of a request
  // that was the last cancel or retry to be answered ok for a job changes nothing, whatever became of it since, also if
  // the job was as asked for already (J3). Refused, and named, if a finished job's unique key is taken (J6).
  virtual Result<ActReply> retry(const ActRequest& request) = 0;

  // Cancels up to `limit` ready and waiting jobs of the queue, all stages, oldest first, between the cursors `after`
  // and `up_to`, each as cancel does, in one step with one entry in the trail, or none if there was no job. Nothing is
  // deleted before its retention: a repeated enqueue still meets its job.
  virtual Result<PurgeReply> purge(const PurgeRequest& request) = 0;

  // Sets what is not empty. An entry in the trail only if some setting changes. Errors: invalid.
  virtual Result<void> set_queue(const SetQueueRequest& request) = 0;
  // A paused queue grants nothing, takeovers included; what runs goes on. The same again: ok, the first pause stays.
  virtual Result<void> pause(const PauseRequest& request) = 0;
  // By name: all that have a job, a setting other than the default, or a pause. One that was named by mistake is gone
  // when that is taken back.
  virtual Result<std::vector<QueueRow>> queues(const std::string& ns) = 0;

  // Removes finished jobs whose retention is over, with all that belongs to them, oldest first; the floor is raised in
  // the same step (L2). A job that still has its unique key, a slot or an effect in doubt stays. A step looks at a
  // bounded number of jobs: `more` may be said with nothing removed, if many of them stay, and what it did not look at
  // may be older. Also forgets batch names, groups without jobs and what else nobody can ask for any more; and locks
  // that have been free for kFreeLockKeptFor and have no live waiter, the longest free first (then by resource), up to
  // `limit` of them: they count as removed, too. So do rows of ticks that are older than kTicksKeptFor or beyond the
  // kTicksKeptMost largest of their schedule, the smallest first, up to `limit` of them (the bar is raised to the last
  // that fired, in the same step), and what is left of removed schedules (schedule_store.hpp).
  virtual Result<TidyReply> tidy(const TidyRequest& request) = 0;

  // Every fence that is granted from now on is larger than `floor`, and than any floor before: for gates that remember
  // more than a store that was restored. Answers the floor that stands. An entry in the trail only if it was raised.
  // Errors: invalid, refused (more than kFloorAheadMost ahead of the store's clock, and above all that it ever
  // granted).
  virtual Result<Fence> raise_floor(const RaiseFloorRequest& request) = 0;

  // Empty if there is no such job, as are the attempts.
  virtual Result<std::optional<JobFacts>> facts(const std::string& ns, const JobId& id) = 0;
  // Oldest first, the one at hand included; at most kAttemptsKept.
  virtual Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) = 0;
};

}  // namespace fenceline
