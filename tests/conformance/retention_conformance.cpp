// What every store promises about forgetting: what is over, and nothing before its time; fences never come again (L2).
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDay = 24h;

TEST_P(RetentionConformance, FinishedJobsAreKeptForTheirTimeByTheirState) {
  const JobId done = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(done)), "");
  const JobId dead = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(dead), {.kind = OutcomeKind::dead}), "");
  const JobId gone = added(new_job());
  EXPECT_EQ(cancelled(gone), "");
  const JobId ready = added(new_job());
  let_time_pass(7 * kDay - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(ids_of(everything()), (std::vector{dead, gone, ready}));
  let_time_pass(23 * kDay - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 2);
  EXPECT_EQ(ids_of(everything()), std::vector{ready}) << "an unfinished job is never forgotten";
  EXPECT_EQ(must(store().job("default", dead)), std::nullopt);
}

TEST_P(RetentionConformance, AQueueKeepsItsJobsAsLongAsItWasSet) {
  set_queue({.keep_done = 24h, .keep_dead = 48h});
  const JobId done = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(done)), "");
  const JobId gone = added(new_job());
  EXPECT_EQ(cancelled(gone), "");
  const JobId other = added(new_job("r"));
  ClaimRequest request = asking("a");
  request.queues = {"r"};
  EXPECT_EQ(ended(claimed(request).at(0)), "");
  let_time_pass(24h);
  EXPECT_EQ(tidied(), 1);
  let_time_pass(24h);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(ids_of(everything()), std::vector{other});
}

TEST_P(RetentionConformance, ASettingCountsForWhatFinishedBefore) {
  added(new_job());
  EXPECT_EQ(ended(claimed_by("a")), "");
  let_time_pass(2 * kDay);
  EXPECT_EQ(tidied(), 0);
  set_queue({.keep_done = 24h});
  EXPECT_EQ(tidied(), 1);
}

TEST_P(RetentionConformance, ARetriedJobIsNotForgotten) {
  const JobId id = added(new_job());
  EXPECT_EQ(cancelled(id), "");
  let_time_pass(29 * kDay);
  EXPECT_EQ(retried(id), "");
  let_time_pass(2 * kDay);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(cancelled(id), "");
  let_time_pass(29 * kDay);
  EXPECT_EQ(tidied(), 0) << "its time counts from the last finish";
  let_time_pass(kDay);
  EXPECT_EQ(tidied(), 1);
}

TEST_P(RetentionConformance, ATidyGoesInBoundedStepsOldestFirst) {
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(added(new_job()));
    EXPECT_EQ(ended(claimed_as_next(ids.back())), "");
    let_time_pass(1s);
  }
  let_time_pass(7 * kDay);
  TidyReply reply = must(store().tidy({.ns = "default", .limit = 2}));
  EXPECT_EQ(reply.removed, 2);
  EXPECT_TRUE(reply.more);
  EXPECT_EQ(ids_of(everything()), (std::vector{ids[2], ids[3], ids[4]}));
  reply = must(store().tidy({.ns = "default", .limit = 3}));
  EXPECT_EQ(reply.removed, 3);
  EXPECT_FALSE(reply.more);
  reply = must(store().tidy({.ns = "default"}));
  EXPECT_EQ(reply.removed, 0);
  EXPECT_FALSE(reply.more);
}

TEST_P(RetentionConformance, AJobThatHasItsKeyStays) {
  NewJob job = new_job();
  job.key = "k";
  job.key_for = 40 * kDay;
  added(job);
  EXPECT_EQ(cancelled(job.id), "");
  let_time_pass(40 * kDay - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 1);
}

TEST_P(RetentionConformance, ManyJobsThatHaveTheirKeyHoldUpNoOther) {
  std::vector<JobId> kept;
  for (int i = 0; i < 30; ++i) {
    NewJob job = new_job();
    job.key = "k" + std::to_string(i);
    job.key_for = 40 * kDay;
    kept.push_back(added(job));
    EXPECT_EQ(cancelled(job.id), "");
  }
  let_time_pass(1s);
  EXPECT_EQ(cancelled(added(new_job())), "");
  let_time_pass(30 * kDay);
  std::int64_t removed = 0;
  for (int step = 0; step < 10; ++step) removed += must(store().tidy({.ns = "default", .limit = 1})).removed;
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(ids_of(everything()), kept);
  EXPECT_FALSE(must(store().tidy({.ns = "default", .limit = 1})).more)
      << "they are not looked at again before their time";
  let_time_pass(10 * kDay - 1s - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 30);
}

TEST_P(RetentionConformance, AJobThatKeptItsKeyGoesByTheSettingAndFinishOfThen) {
  NewJob job = new_job();
  job.key = "k";
  job.key_for = 40 * kDay;
  added(job);
  NewJob other = job;
  other.id = new_id();
  other.key = "other";
  added(other);
  EXPECT_EQ(cancelled(job.id), "");
  EXPECT_EQ(cancelled(other.id), "");
  let_time_pass(35 * kDay);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(retried(other.id), "");
  EXPECT_EQ(cancelled(other.id), "");
  set_queue({.keep_dead = 50 * kDay});
  let_time_pass(10 * kDay);
  EXPECT_EQ(tidied(), 0) << "the keys of one are free, but it is kept longer now";
  let_time_pass(5 * kDay);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(ids_of(everything()), std::vector{other.id});
  let_time_pass(35 * kDay - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 1);
}

TEST_P(RetentionConformance, AJobWhoseKeyIsAnothersGoes) {
  NewJob first = new_job();
  first.key = "k";
  added(first);
  EXPECT_EQ(cancelled(first.id), "");
  NewJob second = first;
  second.id = new_id();
  added(second);
  let_time_pass(30 * kDay);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(ids_of(everything()), std::vector{second.id});
  NewJob third = first;
  third.id = new_id();
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {third}})).ids, std::vector{second.id});
}

TEST_P(RetentionConformance, AJobWhoseRevokedDeliveryHasItsSlotStays) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(cancelled(id), "");
  set_wall(wall() + 31 * kDay);
  EXPECT_EQ(tidied(), 0);
  stopped(claim);
  EXPECT_EQ(tidied(), 1);
}

TEST_P(RetentionConformance, L2_AForgottenJobEnqueuedAnewNeverGetsAnOldFence) {
  const NewJob job = new_job();
  added(job);
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_EQ(cancelled(job.id), "");
  const Fence last = look(job.id).fence;
  stopped(claim);
  let_time_pass(31 * kDay);
  EXPECT_EQ(tidied(), 1);
  set_wall(wall() - 60 * kDay);
  added(job);
  EXPECT_GT(claimed_as_next(job.id).job.fence, last);
  EXPECT_EQ(ended(claim), "superseded");
}

TEST_P(RetentionConformance, L2_TheFloorOfATidyOutlivesTheProcess) {
  const NewJob job = new_job();
  added(job);
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_EQ(ended(claim), "");
  let_time_pass(8 * kDay);
  EXPECT_EQ(tidied(), 1);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  set_wall(wall() - 60 * kDay);
  added(job);
  EXPECT_GT(claimed_as_next(job.id).job.fence, claim.job.fence);
}

TEST_P(RetentionConformance, AllThatBelongsToAJobGoesWithIt) {
  NewJob job = new_job();
  job.tags = {"t"};
  added(job);
  const ClaimedJob claim = claimed_as_next(job.id);
  must(store().record({.ns = "default",
                       .notes = {{.id = job.id, .fence = claim.job.fence, .progress = Progress{1, "n"}, .log = "x"}}}));
  EXPECT_EQ(ended(claim), "");
  let_time_pass(8 * kDay);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(must(store().log({.ns = "default", .id = job.id})), std::nullopt);
  EXPECT_TRUE(must(store().attempts("default", job.id)).empty());
  EXPECT_TRUE(must(store().jobs({.ns = "default", .tag = "t"})).jobs.empty());
  EXPECT_EQ(must(store().facts("default", job.id)), std::nullopt);
  added(job);
  EXPECT_TRUE(must(store().attempts("default", job.id)).empty());
  EXPECT_TRUE(must(store().log({.ns = "default", .id = job.id}))->chunks.empty());
  EXPECT_FALSE(look(job.id).progress);
  EXPECT_EQ(queue_row().depth_of(JobState::done), 0);
}

TEST_P(RetentionConformance, AQueueWithoutJobsIsStillKnownByItsSettings) {
  added(new_job());
  set_queue({.limit = 3});
  EXPECT_EQ(ended(claimed_by("a")), "");
  let_time_pass(8 * kDay);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(queue_row().depth, (std::array<std::int64_t, 6>{}));
}

TEST_P(RetentionConformance, ATidyLeavesOtherNamespacesAlone) {
  added(new_job(), "other");
  const ClaimRequest request{.ns = "other", .queues = {"q"}, .owner = "a", .request = "1", .ttl = kTtl};
  const ClaimedJob claim = claimed(request).at(0);
  EXPECT_EQ(settled("a", holding_of(claim), {}, "other"), "");
  let_time_pass(8 * kDay);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(tidied("never-there"), 0);
  EXPECT_EQ(tidied("other"), 1);
  EXPECT_EQ(code_of(store().tidy({.ns = "a b"})), Code::invalid);
  EXPECT_EQ(code_of(store().tidy({.ns = "default", .limit = 0})), Code::invalid);
}

}  // namespace
}  // namespace fenceline::test
