// J5 on every store: deliveries, failures and losses are counted apart, five losses in a row are the end, and a
// job that may kill its worker runs alone.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(JobConformance, J5_LossesAreCountedApartFromFailures) {
  const JobId id = added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::failed}), "");
  lose(id, 1);
  EXPECT_EQ(look(id).losses, 0) << "a loss is counted when it is met, by the next claim";
  const ClaimedJob claim = claimed_by("b");
  EXPECT_EQ(claim.job.deliveries, 3);
  EXPECT_EQ(claim.job.failures, 1);
  EXPECT_EQ(claim.job.losses, 1);
  EXPECT_EQ(claim.job.losses_in_row, 1);
}

TEST_P(JobConformance, J5_TheFifthLossInARowIsTheEndUnderANewFence) {
  const JobId id = added(new_job());
  lose(id, 4);
  const ClaimedJob last = claimed_by("late");
  EXPECT_EQ(last.job.losses_in_row, 4);
  let_time_pass(kTtl);
  EXPECT_EQ(look(id).state, JobState::running) << "nobody looked yet";
  EXPECT_TRUE(claimed(asking("b")).empty());

  const Job dead = look(id);
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_GT(dead.fence, last.job.fence);
  EXPECT_EQ(dead.owner, "");
  EXPECT_EQ(dead.losses, 5);
  EXPECT_EQ(dead.losses_in_row, 5);
  EXPECT_EQ(dead.deliveries, 5);
  EXPECT_EQ(dead.failures, 0);
  EXPECT_EQ(dead.finished_at, wall());
  EXPECT_NE(dead.error, "");
  EXPECT_FALSE(dead.lease_left);
  EXPECT_EQ(settled("late", holding_of(last), {.kind = OutcomeKind::done}), "superseded");
  EXPECT_EQ(extended("late", holding_of(last)), "superseded");
  EXPECT_EQ(look(id), dead);
}

TEST_P(JobConformance, J5_TheLastHolderIsStillHeardBeforeTheFifthLossIsMet) {
  const JobId id = added(new_job());
  lose(id, 4);
  const ClaimedJob last = claimed_by("late");
  let_time_pass(kTtl);
  EXPECT_EQ(settled("late", holding_of(last), {.kind = OutcomeKind::done}), "");
  EXPECT_EQ(look(id).state, JobState::done);
}

TEST_P(JobConformance, J5_AnyClaimOfItsQueueBuriesAJobLostFiveTimes) {
  std::vector<JobId> ids;
  for (int i = 0; i < 2; ++i) {
    ids.push_back(added(new_job()));
    lose(ids.back(), 4);
    // Held on, so that the other one can be lost alone.
    const ClaimedJob held = claimed_by("holder");
    ASSERT_EQ(held.job.id, ids.back());
    ASSERT_EQ(extended("holder", holding_of(held), 1min), "");
  }
  const JobId free = added(new_job());
  let_time_pass(1min);
  added_to("r");
  ClaimRequest elsewhere = asking("b");
  elsewhere.queues = {"r"};
  EXPECT_EQ(claimed(elsewhere).size(), 1u);
  EXPECT_EQ(look(ids[0]).state, JobState::running) << "a claim of another queue buries nothing";
  ClaimRequest busy = asking("b");
  busy.holds_others = true;
  EXPECT_EQ(claimed_ids(busy), std::vector{free}) << "the limit is not used up by the dead";
  EXPECT_EQ(look(ids[0]).state, JobState::dead);
  EXPECT_EQ(look(ids[1]).state, JobState::dead);
}

TEST_P(JobConformance, J5_AnOutcomeEndsTheRow) {
  for (const OutcomeKind kind : {OutcomeKind::failed, OutcomeKind::later}) {
    const NewJob job = new_job();
    added(job);
    lose(job.id, 4);
    const ClaimedJob claim = claimed_by("a");
    ASSERT_EQ(claim.job.losses_in_row, 4);
    ASSERT_EQ(settled("a", holding_of(claim), {.kind = kind}), "");
    EXPECT_EQ(look(job.id).losses_in_row, 0);
    EXPECT_EQ(look(job.id).losses, 4);
    lose(job.id, 4);
    const ClaimedJob again = claimed_by("a");
    EXPECT_EQ(again.job.losses, 8);
    ASSERT_EQ(settled("a", holding_of(again), {.kind = OutcomeKind::done}), "");
  }
}

TEST_P(JobConformance, J5_GivingBackDoesNotEndTheRow) {
  const JobId id = added(new_job());
  lose(id, 4);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::given_back}), "");
  EXPECT_EQ(look(id).losses_in_row, 4);
  EXPECT_EQ(look(id).losses, 4);
  lose(id, 1);
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(look(id).state, JobState::dead);
}

TEST_P(JobConformance, J5_AClaimTellsHowManyJobsItBuried) {
  const JobId id = added(new_job());
  lose(id, 5);
  const ClaimReply reply = must(store().claim(asking("b")));
  EXPECT_TRUE(reply.jobs.empty());
  EXPECT_EQ(reply.buried, 1);
  EXPECT_EQ(look(id).state, JobState::dead);
  EXPECT_EQ(must(store().claim(asking("c"))).buried, 0);
}

TEST_P(JobConformance, J5_AfterOneLossAJobStillHasNeighbours) {
  const JobId id = added(new_job());
  lose(id, 1);
  const JobId other = added(new_job());
  ClaimRequest request = asking("a", 10);
  request.holds_others = true;
  const ClaimReply reply = must(store().claim(request));
  ASSERT_EQ(reply.jobs.size(), 2u);
  EXPECT_EQ(reply.jobs[0].job.id, id);
  EXPECT_EQ(reply.jobs[1].job.id, other);
  EXPECT_FALSE(reply.alone_waiting);
}

TEST_P(JobConformance, J5_AfterItsSecondLossAJobIsGrantedFirstAndAlone) {
  const JobId id = added(new_job());
  lose(id, 2);
  NewJob urgent = new_job();
  urgent.priority = kPriorityMost;
  added(urgent);
  added(new_job());
  const ClaimReply reply = must(store().claim(asking("a", 10)));
  ASSERT_EQ(reply.jobs.size(), 1u);
  EXPECT_EQ(reply.jobs[0].job.id, id);
  EXPECT_EQ(reply.jobs[0].job.losses_in_row, 2);
  EXPECT_EQ(claimed(asking("b", 10)).size(), 2u) << "its neighbours go to others meanwhile";
}

TEST_P(JobConformance, J5_AnAloneJobGoesBeforeAnEarlierExpiredOne) {
  const JobId alone = added(new_job());
  lose(alone, 1);
  const JobId once = added(new_job());
  ASSERT_EQ(claimed_ids(asking("a", 2)), (std::vector{alone, once}));
  let_time_pass(kTtl - 1ms);
  ASSERT_EQ(extended("a", {alone, look(alone).fence}), "");
  let_time_pass(kTtl);
  EXPECT_EQ(claimed_ids(asking("b", 2)), std::vector{alone}) << "it ended later, but counts the loss at hand";
  EXPECT_EQ(claimed_ids(asking("c", 2)), std::vector{once});
}

TEST_P(JobConformance, J5_AWorkerThatHoldsOthersPassesItOver) {
  const JobId id = added(new_job());
  lose(id, 2);
  const JobId other = added(new_job());
  ClaimRequest request = asking("a", 10);
  request.holds_others = true;
  const ClaimReply reply = must(store().claim(request));
  ASSERT_EQ(reply.jobs.size(), 1u);
  EXPECT_EQ(reply.jobs[0].job.id, other);
  EXPECT_TRUE(reply.alone_waiting);
  EXPECT_EQ(claimed_ids(asking("b")), std::vector{id});
  ClaimRequest again = asking("a");
  again.holds_others = true;
  EXPECT_FALSE(must(store().claim(again)).alone_waiting) << "someone has it now";
}

TEST_P(JobConformance, J5_NobodyWaitsForAnAloneJobOfAnotherQueue) {
  const JobId id = added(new_job());
  lose(id, 2);
  added_to("r");
  ClaimRequest request = asking("a");
  request.queues = {"r"};
  request.holds_others = true;
  const ClaimReply reply = must(store().claim(request));
  EXPECT_EQ(reply.jobs.size(), 1u);
  EXPECT_FALSE(reply.alone_waiting);
}

TEST_P(JobConformance, J5_GivenBackItMustStillRunAlone) {
  const JobId id = added(new_job());
  lose(id, 2);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::given_back}), "");
  const JobId other = added(new_job());
  ClaimRequest busy = asking("b", 10);
  busy.holds_others = true;
  const ClaimReply reply = must(store().claim(busy));
  ASSERT_EQ(reply.jobs.size(), 1u);
  EXPECT_EQ(reply.jobs[0].job.id, other);
  EXPECT_TRUE(reply.alone_waiting);
  added(new_job());
  EXPECT_EQ(claimed_ids(asking("c", 10)), std::vector{id});
}

TEST_P(JobConformance, J5_OneAloneJobAtATime) {
  const JobId first = added(new_job());
  lose(first, 2);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::given_back}), "");
  const JobId second = added_to("r");
  ClaimRequest request = asking("x");
  request.queues = {"r"};
  for (int i = 0; i < 2; ++i) {
    request.request += "+";
    ASSERT_EQ(claimed_ids(request), std::vector{second});
    let_time_pass(kTtl);
  }
  ClaimRequest both = asking("b", 10);
  both.queues = {"q", "r"};
  EXPECT_EQ(claimed_ids(both), std::vector{second}) << "the expired one first";
  both.owner = "c";
  EXPECT_EQ(claimed_ids(both), std::vector{first});
}

TEST_P(JobConformance, J5_SettledWellItHasNeighboursAgain) {
  const JobId id = added(new_job());
  lose(id, 2);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::later}), "");
  added(new_job());
  EXPECT_EQ(claimed(asking("b", 10)).size(), 2u);
}

}  // namespace
}  // namespace fenceline::test
