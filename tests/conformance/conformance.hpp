// One suite, every store. A backend's own test adds the last line only, with a function that opens it:
//   FENCELINE_CONFORMANCE(Memory, &open_memory_harness);
// and links the objects of fenceline_conformance (TEST_DEPENDS conformance).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/harness.hpp"
#include "support/results.hpp"

namespace fenceline::test {

inline constexpr Duration kTtl = std::chrono::seconds{2};
inline constexpr Duration kMoment{1};  // the least that a clock can tell

// The words in which the cases are written. Unless told otherwise everything is about namespace `default` and
// queue `q`.
class StoreConformance : public testing::TestWithParam<OpenHarness> {
 protected:
  StoreConformance() : harness_(GetParam()()) {}

  Store& store() { return harness_->store(); }
  void let_time_pass(Duration duration) { harness_->let_time_pass(duration); }
  WallTime wall() { return harness_->wall(); }
  void set_wall(WallTime to) { harness_->set_wall(to); }
  bool set_server_clock(Duration by) { return harness_->set_server_clock(by); }
  bool reopen() { return harness_->reopen(); }

  JobId new_id();
  NewJob new_job(std::string queue = "q");
  JobId added(const NewJob& job, const std::string& ns = "default");
  JobId added_to(const std::string& queue) { return added(new_job(queue)); }

  // A claim that was not made before.
  ClaimRequest asking(const std::string& owner, int limit = 1);
  std::vector<ClaimedJob> claimed(const ClaimRequest& request) { return must(store().claim(request)).jobs; }
  // The one job that can be had.
  ClaimedJob claimed_by(const std::string& owner);
  std::vector<JobId> claimed_ids(const ClaimRequest& request);
  Result<void> give_back(const ClaimRequest& request);

  // The reason of the refusal; empty: accepted.
  std::string settled(const std::string& owner, const Holding& holding, const Outcome& outcome,
                      const std::string& ns = "default");
  std::string extended(const std::string& owner, const Holding& holding, Duration ttl = kTtl,
                       const std::string& ns = "default");

  // Ends a delivery as its own holder; the reason of the refusal.
  std::string ended(const ClaimedJob& claimed, const Outcome& outcome = {});
  // Claims the one job that can be had, which must be this one.
  ClaimedJob claimed_as_next(const JobId& id, const std::string& owner = "a");
  // What can be claimed now, and is given back.
  std::vector<JobId> claimable_ids(const std::string& queue = "q");

  // What an operator does; the reason of the refusal. Unless it is given, the request was not made before.
  std::string cancelled(const JobId& id, const std::string& request = "");
  std::string retried(const JobId& id, const std::string& request = "");
  void set_queue(const QueueChange& change, const std::string& queue = "q");
  void pause(const std::string& queue = "q");
  void resume(const std::string& queue = "q");
  // The worker says that it stopped this delivery.
  void stopped(const ClaimedJob& claimed);
  // Removes all that can be; how many.
  std::int64_t tidied(const std::string& ns = "default");
  // Without what the store says of itself.
  std::vector<TrailEntry> trail(const std::string& ns = "default");

  // As it stands; it must be there.
  Job look(const JobId& id, const std::string& ns = "default");
  JobFacts facts(const JobId& id);
  QueueRow queue_row(const std::string& queue = "q");
  // Claims the job, and lets its lease run out, so often.
  void lose(const JobId& id, int times);
  // All jobs of a namespace, in order, page by page, with payloads.
  std::vector<Job> everything(const std::string& ns = "default");

 private:
  std::unique_ptr<StoreHarness> harness_;
  std::uint64_t last_number_ = 0;
};

inline Holding holding_of(const ClaimedJob& claimed) { return {claimed.job.id, claimed.job.fence}; }
std::vector<JobId> ids_of(const std::vector<Job>& jobs);

inline const Act kAct{"ann", "because"};

class JobConformance : public StoreConformance {};
class KeyConformance : public StoreConformance {};
class GroupConformance : public StoreConformance {};
class LimitConformance : public StoreConformance {};
class ActConformance : public StoreConformance {};
class QueueConformance : public StoreConformance {};
class NoteConformance : public StoreConformance {};
class HistoryConformance : public StoreConformance {};
class RetentionConformance : public StoreConformance {};
class RegistryConformance : public StoreConformance {};
class TrailConformance : public StoreConformance {};

// Unless told otherwise everything is about an effect `pay` with digest `d`.
class EffectConformance : public StoreConformance {
 protected:
  BeginEffectRequest calling(const ClaimedJob& claimed, const std::string& call, InDoubt in_doubt = InDoubt::hold);
  BeginEffectRequest calling(const ClaimedJob& claimed, const std::string& call, const std::string& name);
  // The verdict, and after a blank the reason of a refusal.
  std::string begun(const BeginEffectRequest& request);
  // The reason of the refusal; empty: accepted.
  std::string finished(const BeginEffectRequest& begun, EffectEnd end, const std::string& result = "");
  // The code of the error; empty: accepted.
  std::string resolved(const JobId& id, bool done, const std::string& result = "", const std::string& name = "pay");
  // As it stands, with its result; it must be there.
  Effect effect(const JobId& id, const std::string& name = "pay");
  // Begins the effect of this job, which can be claimed next, and lets the lease run out; then claims it again.
  ClaimedJob left_in_doubt(const JobId& id);
  // The next delivery of such a job has met the doubt under `hold`: it waits.
  ClaimedJob held(const JobId& id);
};

// Unless told otherwise everything is about a lock `l`.
class LockConformance : public StoreConformance {
 protected:
  // An acquire that was not made before; it does not wait.
  AcquireRequest taking(const std::string& owner, const std::string& name = "l");
  AcquireRequest waiting(const std::string& owner, const std::string& name = "l");
  AcquireRequest sharing(const std::string& owner, const std::string& name = "l");
  // "granted", the reason why it was not, or the code of the error.
  std::string tried(const AcquireRequest& request);
  // What it was granted; it must be.
  std::vector<LockHolding> all_taken(const AcquireRequest& request);
  LockHolding taken(const AcquireRequest& request);
  LockHolding taken_by(const std::string& owner, const std::string& name = "l") { return taken(taking(owner, name)); }
  // The reason of the refusal; empty: accepted.
  std::string renewed(const LockHolding& lock, Duration ttl = kTtl);
  std::string released(const LockHolding& lock);
  void withdrawn(const AcquireRequest& request);
  // What is known of it, which must be something.
  LockRow lock_row(const std::string& resource = "l");
  Result<BreakReply> broken(const std::string& resource = "l", std::optional<Fence> only = std::nullopt,
                            const std::string& request = "");

 private:
  std::uint64_t last_try_ = 0;
};

// The server's clock, by which leases run, was an hour ahead, and comes back.
class ClockConformance : public LockConformance {
 protected:
  // False: nobody can set the clock of this store's leases.
  bool clock_goes_ahead() { return set_server_clock(std::chrono::hours{1}); }
  void clock_comes_back() { set_server_clock(-std::chrono::hours{1}); }
};

// Unless told otherwise everything is about a schedule `s`, which has a tick each minute. Minutes count from the
// store's clock as it was when one was first spoken of.
class ScheduleConformance : public StoreConformance {
 protected:
  WallTime minute(std::int64_t number);
  void set_minute(std::int64_t number) { set_wall(minute(number)); }

  // The row of a schedule that is not there.
  static ScheduleRow nothing(const std::string& name = "s");
  // A change that was not made before.
  ChangeScheduleRequest changing(const ScheduleRow& row, ScheduleChange change);
  ChangeScheduleRequest rewinding(const ScheduleRow& row, std::int64_t to);
  ChangeScheduleRequest running(const ScheduleRow& row);
  // How it stands after the change, which must be made.
  ScheduleRow changed(const ChangeScheduleRequest& request) { return must(store().change_schedule(request)).schedule; }
  ScheduleRow changed(const ScheduleRow& row, ScheduleChange change) { return changed(changing(row, change)); }
  ScheduleRow added_schedule(const std::string& name = "s");
  // The code of the error; empty: it was made.
  std::string tried(const ChangeScheduleRequest& request);

  // From where the row stands.
  TickStep step(const ScheduleRow& row, std::int64_t to, const std::vector<std::int64_t>& fired = {},
                const std::vector<SkippedTicks>& skipped = {});
  static SkippedTicks skipping(WallTime first, WallTime last, const std::string& reason = "missed");
  SkippedTicks skipping(std::int64_t first, std::int64_t last, const std::string& reason = "missed") {
    return skipping(minute(first), minute(last), reason);
  }
  // A request that was not made before.
  StepRequest stepping(const std::vector<TickStep>& steps);
  StepAnswer stepped(const TickStep& step) { return must(store().step_ticks(stepping({step}))).answers.at(0); }
  // "taken", or why not.
  std::string tried(const TickStep& step);
  // Moves the account on by a step, which must be taken; how the row stands then.
  ScheduleRow moved(const TickStep& step);

  // As it stands; it must be there.
  ScheduleRow schedule(const std::string& name = "s", bool unfinished = false);
  std::vector<TickRow> ticks(const std::string& name = "s");
  // What became of ticks, in minutes, ascending: "1 fired", "2-5 missed", or "2-5 missed 3" if it is not one each
  // minute.
  std::vector<std::string> history(const std::string& name = "s");
  std::int64_t minute_of(WallTime at);

 private:
  std::optional<WallTime> start_;
};

// Unless told otherwise everything is about a pipeline `p`, and items in queue `q`. A change rests on the item as it
// stands.
class PipelineConformance : public EffectConformance {
 protected:
  static PutPipelineRequest putting(const std::string& spec, std::int64_t revision = 0, const std::string& name = "p");
  PipelineRow put(const PutPipelineRequest& request) { return must(store().put_pipeline(request)); }
  std::vector<PipelineRow> pipelines(const std::string& ns = "default") { return must(store().pipelines(ns)); }

  // As it stands; it must be there.
  Item item(const JobId& id, const std::string& ns = "default");
  // By a person, without a place.
  ItemChange noting(const JobId& id, const std::string& record = "r");
  ItemChange moving(const JobId& id, const std::string& stage, JobState state = JobState::ready);
  // By the holder of a delivery.
  ItemChange advancing(const ClaimedJob& claim, const std::string& stage, JobState state = JobState::ready);
  // A request that was not made before; `owner` is who claims unless told otherwise.
  ChangeItemsRequest changing(const std::vector<ItemChange>& changes, const std::string& owner = "a");
  std::vector<ItemRefusal> changed(const ChangeItemsRequest& request) {
    return must(store().change_items(request)).refused;
  }
  // The reason of the refusal; empty: made.
  std::string changed(const ItemChange& change, const std::string& owner = "a");
  std::string moved(const JobId& id, const std::string& stage, JobState state = JobState::ready) {
    return changed(moving(id, stage, state));
  }
  std::string advanced(const ClaimedJob& claim, const std::string& stage, JobState state = JobState::ready) {
    return changed(advancing(claim, stage, state), claim.job.owner);
  }
  std::vector<Attempt> attempts(const JobId& id) { return must(store().attempts("default", id)); }

  ClaimRequest asking_at(const std::string& stage, const std::string& owner = "a", int limit = 10);
  // Claims what can be had at the stage, which must be this one.
  ClaimedJob claimed_at(const std::string& stage, const JobId& id, const std::string& owner = "a");
  std::vector<JobId> ids_at(const std::string& stage) { return claimed_ids(asking_at(stage, "looks")); }
};

}  // namespace fenceline::test

#define FENCELINE_CONFORMANCE(name, open)                        \
  FENCELINE_CONFORMANCE_SUITE(name, JobConformance, open);       \
  FENCELINE_CONFORMANCE_SUITE(name, KeyConformance, open);       \
  FENCELINE_CONFORMANCE_SUITE(name, GroupConformance, open);     \
  FENCELINE_CONFORMANCE_SUITE(name, LimitConformance, open);     \
  FENCELINE_CONFORMANCE_SUITE(name, ActConformance, open);       \
  FENCELINE_CONFORMANCE_SUITE(name, QueueConformance, open);     \
  FENCELINE_CONFORMANCE_SUITE(name, NoteConformance, open);      \
  FENCELINE_CONFORMANCE_SUITE(name, HistoryConformance, open);   \
  FENCELINE_CONFORMANCE_SUITE(name, RetentionConformance, open); \
  FENCELINE_CONFORMANCE_SUITE(name, RegistryConformance, open);  \
  FENCELINE_CONFORMANCE_SUITE(name, EffectConformance, open);    \
  FENCELINE_CONFORMANCE_SUITE(name, LockConformance, open);      \
  FENCELINE_CONFORMANCE_SUITE(name, ClockConformance, open);     \
  FENCELINE_CONFORMANCE_SUITE(name, ScheduleConformance, open);  \
  FENCELINE_CONFORMANCE_SUITE(name, PipelineConformance, open);  \
  FENCELINE_CONFORMANCE_SUITE(name, TrailConformance, open)

#define FENCELINE_CONFORMANCE_SUITE(name, suite, open)                       \
  namespace fenceline::test {                                                \
  INSTANTIATE_TEST_SUITE_P(name, suite, testing::Values(OpenHarness{open})); \
  }                                                                          \
  static_assert(true)
