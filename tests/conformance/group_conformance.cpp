// What every store promises about groups (J7): one at a time, in the order of enqueue.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

NewJob of_group(JobId id, std::string group = "g") { return {.id = id, .queue = "q", .group = std::move(group)}; }

TEST_P(GroupConformance, J7_AGroupRunsOneAtATimeInTheOrderOfEnqueue) {
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(added(of_group(new_id())));
  for (const JobId& id : ids) {
    const ClaimedJob claim = claimed_as_next(id);
    EXPECT_TRUE(claimed(asking("b", 10)).empty());
    EXPECT_EQ(ended(claim), "");
  }
}

TEST_P(GroupConformance, J7_OneClaimForManyGetsOnlyTheHead) {
  const JobId head = added(of_group(new_id()));
  added(of_group(new_id()));
  const JobId other = added(of_group(new_id(), "h"));
  const JobId none = added(new_job());
  EXPECT_EQ(claimed_ids(asking("a", 10)), (std::vector{head, other, none}));
}

TEST_P(GroupConformance, J7_NeitherPriorityNorRunTimeChangesTheOrder) {
  NewJob slow = of_group(new_id());
  slow.delay = 1h;
  slow.priority = -5;
  added(slow);
  NewJob eager = of_group(new_id());
  eager.priority = 100;
  added(eager);
  EXPECT_TRUE(claimed(asking("a", 10)).empty()) << "a head that waits for its time holds the group";
  let_time_pass(1h);
  EXPECT_EQ(ended(claimed_as_next(slow.id)), "");
  claimed_as_next(eager.id);
}

TEST_P(GroupConformance, J7_TheOrderOfOneBatchIsItsOwn) {
  std::vector<NewJob> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(of_group(new_id()));
  std::swap(jobs[0], jobs[3]);
  must(store().enqueue({.ns = "default", .jobs = jobs}));
  for (const NewJob& job : jobs) EXPECT_EQ(ended(claimed_as_next(job.id)), "");
}

TEST_P(GroupConformance, J7_AClockSetBackDoesNotChangeTheOrder) {
  const JobId first = added(of_group(new_id()));
  set_wall(wall() - 1h);
  const JobId second = added(of_group(new_id()));
  EXPECT_TRUE(claimed(asking("a")).empty());
  set_wall(wall() + 1h);
  EXPECT_EQ(ended(claimed_as_next(first)), "");
  claimed_as_next(second);
}

TEST_P(GroupConformance, J7_AHeadThatWaitsForItsRetryHoldsTheGroup) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  EXPECT_EQ(ended(claimed_as_next(head), {.kind = OutcomeKind::failed, .retry_in = 10s}), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(10s);
  EXPECT_EQ(ended(claimed_as_next(head), {.kind = OutcomeKind::later, .retry_in = 5s}), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(5s);
  EXPECT_EQ(ended(claimed_as_next(head), {.kind = OutcomeKind::given_back}), "");
  EXPECT_EQ(ended(claimed_as_next(head)), "");
  claimed_as_next(next);
}

TEST_P(GroupConformance, J7_DeadAndCancelledLetTheGroupGoOn) {
  const JobId dead = added(of_group(new_id()));
  const JobId idle = added(of_group(new_id()));
  const JobId last = added(of_group(new_id()));
  EXPECT_EQ(ended(claimed_as_next(dead), {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(cancelled(idle), "");
  claimed_as_next(last);
}

TEST_P(GroupConformance, J7_AnExpiredHeadHoldsTheGroupAndIsTakenOver) {
  const JobId head = added(of_group(new_id()));
  added(of_group(new_id()));
  const ClaimedJob first = claimed_as_next(head);
  let_time_pass(kTtl);
  ClaimRequest busy = asking("b", 10);
  EXPECT_EQ(claimed_ids(busy), std::vector{head});
  EXPECT_EQ(ended(first), "superseded");
  EXPECT_TRUE(claimed(asking("c", 10)).empty());
}

TEST_P(GroupConformance, J7_ABuriedHeadLetsTheGroupGoOnInTheSameClaim) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  lose(head, 5);
  const ClaimedJob claim = claimed_as_next(next);
  const Job buried = look(head);
  EXPECT_EQ(buried.state, JobState::dead);
  EXPECT_GT(claim.job.fence, buried.fence) << "a fence is above all that the group had";
}

TEST_P(GroupConformance, J7_ACancelledRunningHeadKeepsItsSlotUntilItsWorkerStopped) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  const ClaimedJob running = claimed_as_next(head);
  EXPECT_EQ(cancelled(head), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(facts(next).group_head, head);
  EXPECT_TRUE(facts(next).group_head_revoked);
  stopped(running);
  const ClaimedJob claim = claimed_as_next(next, "b");
  EXPECT_GT(claim.job.fence, running.job.fence);
}

TEST_P(GroupConformance, J7_ACancelledRunningHeadKeepsItsSlotUntilItsLeaseWouldHaveEnded) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  claimed_as_next(head);
  EXPECT_EQ(cancelled(head), "");
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  claimed_as_next(next, "b");
}

TEST_P(GroupConformance, J7_ARetriedRunningHeadComesAgainBeforeTheOthers) {
  const JobId head = added(of_group(new_id()));
  added(of_group(new_id()));
  const ClaimedJob running = claimed_as_next(head);
  EXPECT_EQ(retried(head), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  stopped(running);
  claimed_as_next(head, "b");
}

TEST_P(GroupConformance, J7_ARetriedDeadJobTakesTheLastPlace) {
  const JobId first = added(of_group(new_id()));
  const JobId second = added(of_group(new_id()));
  EXPECT_EQ(ended(claimed_as_next(first), {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(retried(first), "");
  EXPECT_EQ(ended(claimed_as_next(second)), "");
  EXPECT_EQ(ended(claimed_as_next(first)), "");
}

TEST_P(GroupConformance, J7_AJobCancelledAndRetriedWhileItsWorkerStillRunsIsNotStartedTwice) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  const ClaimedJob running = claimed_as_next(head);
  EXPECT_EQ(cancelled(head), "");
  EXPECT_EQ(retried(head), "");
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
  stopped(running);
  EXPECT_EQ(ended(claimed_as_next(next, "b")), "");
  claimed_as_next(head, "b");
}

TEST_P(GroupConformance, J7_AGroupBelongsToItsQueueWithAllItsStages) {
  NewJob staged = of_group(new_id());
  staged.stage = "review";
  added(staged);
  const JobId next = added(of_group(new_id()));
  EXPECT_TRUE(claimed(asking("a")).empty()) << "the head is at another stage";
  ClaimRequest review = asking("a");
  review.stage = "review";
  const ClaimedJob claim = claimed(review).at(0);
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(ended(claim), "");
  claimed_as_next(next);
  NewJob elsewhere = of_group(new_id());
  elsewhere.queue = "r";
  added(elsewhere);
  ClaimRequest other = asking("a");
  other.queues = {"r"};
  EXPECT_EQ(claimed_ids(other), std::vector{elsewhere.id});
}

TEST_P(GroupConformance, L2_AFenceIsAboveAllThatItsGroupHad) {
  const JobId first = added(of_group(new_id()));
  const ClaimedJob claim = claimed_as_next(first);
  EXPECT_EQ(ended(claim), "");
  set_wall(wall() - 1h);
  NewJob late = of_group(new_id());
  late.at = wall();
  added(late);
  const ClaimedJob next = claimed_as_next(late.id);
  EXPECT_EQ(next.job.fence, claim.job.fence + 1);
  EXPECT_EQ(cancelled(late.id), "");
  EXPECT_EQ(look(late.id).fence, claim.job.fence + 2);
  stopped(next);
  NewJob last = of_group(new_id());
  last.at = wall();
  added(last);
  EXPECT_EQ(claimed_as_next(last.id).job.fence, claim.job.fence + 3) << "the fence of a cancel counts";
}

TEST_P(GroupConformance, L2_AForgottenGroupNeverGetsAnOldFence) {
  added(of_group(new_id()));
  const ClaimedJob claim = claimed_by("a");
  EXPECT_EQ(ended(claim), "");
  let_time_pass(24h * 8);
  EXPECT_EQ(tidied(), 1);
  set_wall(wall() - 24h * 30);
  NewJob late = of_group(new_id());
  late.at = wall();
  added(late);
  EXPECT_GT(claimed_as_next(late.id).job.fence, claim.job.fence);
}

TEST_P(GroupConformance, J8_ABlockedGroupInFrontHidesNoFreeJob) {
  std::vector<NewJob> blocked;
  for (int i = 0; i < 300; ++i) {
    NewJob job = of_group(new_id());
    job.priority = 10;
    blocked.push_back(job);
  }
  must(store().enqueue({.ns = "default", .jobs = blocked}));
  claimed_as_next(blocked.front().id);
  const JobId free = added(new_job());
  EXPECT_EQ(claimed_ids(asking("b", 10)), std::vector{free});
}

TEST_P(GroupConformance, J5_AnAloneHeadIsGrantedOnlyWhenItIsItsTurn) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  lose(head, 2);
  const ClaimedJob alone = claimed_as_next(head);
  EXPECT_EQ(ended(alone, {.kind = OutcomeKind::given_back}), "");
  ClaimRequest busy = asking("b", 5);
  busy.holds_others = true;
  const ClaimReply reply = must(store().claim(busy));
  EXPECT_TRUE(reply.jobs.empty());
  EXPECT_TRUE(reply.alone_waiting);
  EXPECT_EQ(cancelled(head), "");
  busy = asking("b", 5);
  busy.holds_others = true;
  const ClaimReply after = must(store().claim(busy));
  ASSERT_EQ(after.jobs.size(), 1u);
  EXPECT_EQ(after.jobs[0].job.id, next);
  EXPECT_FALSE(after.alone_waiting);
}

TEST_P(GroupConformance, J7_AGroupOutlivesTheProcess) {
  const JobId head = added(of_group(new_id()));
  const JobId next = added(of_group(new_id()));
  const ClaimedJob running = claimed_as_next(head);
  EXPECT_EQ(cancelled(head), "");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_TRUE(claimed(asking("b")).empty());
  stopped(running);
  claimed_as_next(next, "b");
}

}  // namespace
}  // namespace fenceline::test
