// What every store promises about cancel and retry: the fence is bumped at once, a repeat changes nothing (J3), and the
// act stands in the trail.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(ActConformance, AReadyJobIsCancelledUnderItsOldFence) {
  const JobId id = added(new_job());
  let_time_pass(1s);
  EXPECT_EQ(cancelled(id), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::cancelled);
  EXPECT_EQ(job.finished_at, wall());
  EXPECT_EQ(job.fence, 0);
  EXPECT_TRUE(claimed(asking("a")).empty());
}

TEST_P(ActConformance, J3_ARunningJobIsCancelledUnderANewFenceAtOnce) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(cancelled(id), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::cancelled);
  EXPECT_GT(job.fence, claim.job.fence);
  EXPECT_EQ(job.owner, "");
  EXPECT_FALSE(job.lease_left);
  EXPECT_EQ(job.failures, 0);
  EXPECT_EQ(job.losses, 0);
  EXPECT_EQ(ended(claim), "superseded");
  EXPECT_EQ(extended("a", holding_of(claim)), "superseded");
  const RecordReply noted =
      must(store().record({.ns = "default", .notes = {{.id = id, .fence = claim.job.fence, .log = "late"}}}));
  EXPECT_EQ(noted.refused, (std::vector<Refusal>{{id, claim.job.fence, job.fence, Reason::superseded}}));
  EXPECT_EQ(look(id), job);
}

TEST_P(ActConformance, J3_AJobWhoseLeaseRanOutIsCancelledToo) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(kTtl);
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(ended(claim), "superseded");
  EXPECT_EQ(facts(id).slot_left, std::nullopt);
  EXPECT_TRUE(must(store().orders("default", "a")).revoked.empty());
  EXPECT_TRUE(claimed(asking("b")).empty());
}

TEST_P(ActConformance, CancelledAgainIsFineAndFinishedJobsAreRefused) {
  const JobId id = added(new_job());
  EXPECT_EQ(cancelled(id), "");
  const Job before = look(id);
  let_time_pass(1s);
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(look(id), before);
  const JobId done = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(done)), "");
  const JobId dead = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(dead), {.kind = OutcomeKind::dead}), "");
  const JobId nobody = new_id();
  const JobId ready = added(new_job());
  const ActReply reply =
      must(store().cancel({.ns = "default", .ids = {done, nobody, ready, dead}, .request = "1", .act = kAct}));
  EXPECT_EQ(reply.refused, (std::vector<ActRefusal>{{done, Reason::finished, std::nullopt},
                                                    {nobody, Reason::not_found, std::nullopt},
                                                    {dead, Reason::finished, std::nullopt}}));
  EXPECT_EQ(look(ready).state, JobState::cancelled);
  EXPECT_EQ(look(done).state, JobState::done);
}

TEST_P(ActConformance, J3_ARepeatedSettleAfterACancelIsStillARepeat) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::failed, .retry_in = 1h}), "");
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::failed}), "");
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::done}), "finished");
  EXPECT_EQ(look(id).state, JobState::cancelled);
}

TEST_P(ActConformance, ADeadJobIsRetriedAtOnceWithNothingCounted) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::dead, .error = "no", .exit_status = 65}), "");
  let_time_pass(1h);
  EXPECT_EQ(retried(id), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.run_at, wall());
  EXPECT_EQ(job.failures, 0);
  EXPECT_EQ(job.losses_in_row, 0);
  EXPECT_FALSE(job.finished_at);
  EXPECT_EQ(job.deliveries, 1);
  EXPECT_EQ(job.error, "no") << "the last one";
  EXPECT_EQ(job.exit_status, 65);
  EXPECT_GT(claimed_as_next(id).job.fence, claim.job.fence);
}

TEST_P(ActConformance, ABuriedJobIsRetriedWithItsFullNumberOfLosses) {
  const JobId id = added(new_job());
  lose(id, 5);
  EXPECT_TRUE(claimed(asking("buries")).empty());
  EXPECT_EQ(retried(id), "");
  EXPECT_FALSE(facts(id).must_run_alone);
  EXPECT_EQ(look(id).losses, 5);
  lose(id, 4);
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(claim.job.losses, 9);
  EXPECT_EQ(claim.job.losses_in_row, 4);
}

TEST_P(ActConformance, ACancelledJobIsRetried) {
  const JobId id = added(new_job());
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(retried(id), "");
  EXPECT_FALSE(look(id).finished_at);
  claimed_as_next(id);
}

TEST_P(ActConformance, AReadyJobLosesItsDelay) {
  NewJob job = new_job();
  job.delay = 1h;
  added(job);
  EXPECT_TRUE(claimed(asking("a")).empty());
  EXPECT_EQ(retried(job.id), "");
  EXPECT_EQ(look(job.id).run_at, wall());
  claimed_as_next(job.id);
}

TEST_P(ActConformance, AJobThatCouldBeClaimedStaysAsItIs) {
  const JobId id = added(new_job());
  let_time_pass(1s);
  const Job before = look(id);
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(look(id), before);
  EXPECT_TRUE(trail().empty());
}

TEST_P(ActConformance, J3_ARunningJobIsRetriedUnderANewFenceWhenItsSlotIsFree) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(retried(id), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_GT(job.fence, claim.job.fence);
  EXPECT_EQ(job.owner, "");
  EXPECT_EQ(facts(id).slot_left, kTtl);
  EXPECT_EQ(ended(claim), "superseded");
  EXPECT_TRUE(claimed(asking("b")).empty()) << "its worker has not stopped";
  stopped(claim);
  EXPECT_FALSE(facts(id).slot_left);
  EXPECT_GT(claimed_as_next(id, "b").job.fence, job.fence);
}

TEST_P(ActConformance, J3_ARetriedRunningJobIsClaimableWhenItsLeaseWouldHaveEnded) {
  const JobId id = added(new_job());
  claimed_as_next(id);
  EXPECT_EQ(retried(id), "");
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  const ClaimedJob again = claimed_as_next(id, "b");
  EXPECT_FALSE(again.forced);
  EXPECT_EQ(again.job.losses, 0) << "a delivery that was revoked is not lost";
}

TEST_P(ActConformance, J3_ARetriedJobWhoseLeaseRanOutIsClaimableAtOnce) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(kTtl);
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(ended(claim), "superseded");
  const ClaimedJob again = claimed_as_next(id, "b");
  EXPECT_FALSE(again.forced);
  EXPECT_EQ(again.job.losses, 0);
}

TEST_P(ActConformance, ARetryOfAJobThatMustRunAloneKeepsItAlone) {
  const JobId id = added(new_job());
  lose(id, 2);
  const ClaimedJob alone = claimed_as_next(id);
  EXPECT_EQ(retried(id), "");
  stopped(alone);
  added(new_job());
  EXPECT_EQ(claimed_ids(asking("b", 5)), std::vector{id}) << "only a finished job starts its count anew";
}

TEST_P(ActConformance, ADoneJobIsNotRetried) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id)), "");
  EXPECT_EQ(retried(id), "finished");
  EXPECT_EQ(retried(new_id()), "not_found");
  EXPECT_EQ(look(id).state, JobState::done);
}

TEST_P(ActConformance, J3_ARepeatOfTheLastActChangesNothing) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(retried(id, "once"), "");
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(retried(id, "once"), "");
  EXPECT_EQ(extended("a", holding_of(claim)), "") << "the running delivery was not revoked";
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(retried(id, "once"), "");
  EXPECT_EQ(look(id).state, JobState::dead) << "it is not revived a second time";
  EXPECT_EQ(trail().size(), 1u);
  EXPECT_EQ(retried(id, "twice"), "");
  EXPECT_EQ(look(id).state, JobState::ready);
}

TEST_P(ActConformance, J3_ARepeatedRetryOfADoneJobIsNotRefused) {
  const JobId id = added(new_job());
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(retried(id, "once"), "");
  EXPECT_EQ(ended(claimed_as_next(id)), "");
  EXPECT_EQ(retried(id, "once"), "");
  EXPECT_EQ(look(id).state, JobState::done);
}

TEST_P(ActConformance, J3_ARepeatOfARetryThatHadNothingToChangeStopsNothing) {
  const JobId id = added(new_job());
  EXPECT_EQ(retried(id, "once"), "") << "it is ready and due";
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(retried(id, "once"), "");
  EXPECT_EQ(ended(claim), "") << "the running delivery was not revoked";
  EXPECT_TRUE(trail().empty());
}

TEST_P(ActConformance, AnActOnJobsOfOneStateLeavesOthersAsTheyAre) {
  const JobId dead = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(dead), {.kind = OutcomeKind::dead}), "");
  const JobId runs = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(runs), {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(retried(runs), "");
  const ClaimedJob claim = claimed_as_next(runs, "w");
  const JobId nobody = new_id();
  const ActRequest request{
      .ns = "default", .ids = {runs, dead, nobody}, .request = "1", .only = JobState::dead, .act = kAct};
  EXPECT_EQ(must(store().retry(request)).refused,
            (std::vector<ActRefusal>{{runs, Reason::state, std::nullopt}, {nobody, Reason::not_found, std::nullopt}}));
  EXPECT_EQ(look(dead).state, JobState::ready);
  EXPECT_EQ(must(store().retry(request)).refused.size(), 2u) << "the one that is ready now was retried by this request";
  EXPECT_EQ(ended(claim), "") << "the running delivery was not revoked";
  ActRequest cancel = request;
  cancel.request = "2";
  cancel.only = JobState::ready;
  EXPECT_EQ(must(store().cancel(cancel)).refused,
            (std::vector<ActRefusal>{{runs, Reason::state, std::nullopt}, {nobody, Reason::not_found, std::nullopt}}));
  EXPECT_EQ(look(dead).state, JobState::cancelled);
}

TEST_P(ActConformance, J3_ActsAreRememberedOverARestart) {
  const JobId id = added(new_job());
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(retried(id, "once"), "");
  const ClaimedJob claim = claimed_as_next(id);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(retried(id, "once"), "");
  EXPECT_EQ(ended(claim), "");
}

TEST_P(ActConformance, EachChangedJobStandsInTheTrail) {
  const JobId first = added(new_job());
  const JobId second = added(new_job());
  EXPECT_EQ(cancelled(second), "");
  const WallTime at = wall();
  must(store().cancel(
      {.ns = "default", .ids = {first, second, new_id()}, .request = "1", .act = {"ben", "wrong \"list\""}}));
  must(store().retry({.ns = "default", .ids = {second, first}, .request = "2", .act = kAct}));
  EXPECT_EQ(trail(),
            (std::vector<TrailEntry>{{at, "default", "ann", "job_cancelled", to_string(second), "because"},
                                     {at, "default", "ben", "job_cancelled", to_string(first), "wrong \"list\""},
                                     {at, "default", "ann", "job_retried", to_string(second), "because"},
                                     {at, "default", "ann", "job_retried", to_string(first), "because"}}));
  EXPECT_TRUE(trail("other").empty());
}

TEST_P(ActConformance, L2_AnActWithoutAFenceLeftIsRefusedAndChangesNothing) {
  const JobId ready = added(new_job());
  const ClaimedJob claim = claimed_as_next(ready);
  const JobId other = added(new_job());
  const WallTime before = wall();
  set_wall(WallTime{Duration{kFenceMax + 1}});
  EXPECT_EQ(code_of(store().cancel({.ns = "default", .ids = {other, ready}, .request = "1", .act = kAct})),
            Code::refused);
  EXPECT_EQ(code_of(store().retry({.ns = "default", .ids = {ready}, .request = "2", .act = kAct})), Code::refused);
  set_wall(before);
  EXPECT_EQ(look(other).state, JobState::ready);
  EXPECT_TRUE(trail().empty());
  EXPECT_EQ(ended(claim), "");
}

TEST_P(ActConformance, ActsDoNotCrossNamespaces) {
  const NewJob job = new_job();
  added(job);
  added(job, "other");
  EXPECT_EQ(cancelled(job.id), "");
  EXPECT_EQ(look(job.id, "other").state, JobState::ready);
}

TEST_P(ActConformance, InvalidActsChangeNothing) {
  const JobId id = added(new_job());
  const ActRequest good{.ns = "default", .ids = {id}, .request = "1", .act = kAct};
  std::vector<ActRequest> bad(5, good);
  bad[0].ns = "a b";
  bad[1].ids = {id, id};
  bad[2].request = "";
  bad[3].act.actor = "";
  bad[4].act.reason = std::string(kNoteBytesMax + 1, 'r');
  for (const ActRequest& request : bad) {
    EXPECT_EQ(code_of(store().cancel(request)), Code::invalid);
    EXPECT_EQ(code_of(store().retry(request)), Code::invalid);
  }
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_TRUE(trail().empty());
  EXPECT_TRUE(must(store().cancel({.ns = "default", .ids = {}, .request = "1", .act = kAct})).refused.empty());
}

TEST_P(ActConformance, OrdersNameRevokedDeliveriesThatKeepTheirSlotById) {
  added(new_job());
  added(new_job());
  std::vector<ClaimedJob> claims = claimed(asking("a", 2));
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_TRUE(must(store().orders("default", "a")).revoked.empty());
  EXPECT_EQ(cancelled(claims[1].job.id), "");
  EXPECT_EQ(retried(claims[0].job.id), "");
  const OrdersReply reply = must(store().orders("default", "a"));
  EXPECT_EQ(reply.order, WorkerOrder::work);
  EXPECT_EQ(reply.revoked, (std::vector{holding_of(claims[0]), holding_of(claims[1])}));
  EXPECT_TRUE(must(store().orders("default", "b")).revoked.empty());
  EXPECT_TRUE(must(store().orders("other", "a")).revoked.empty());
  stopped(claims[0]);
  EXPECT_EQ(must(store().orders("default", "a")).revoked, std::vector{holding_of(claims[1])});
  let_time_pass(kTtl);
  EXPECT_TRUE(must(store().orders("default", "a")).revoked.empty());
}

TEST_P(ActConformance, ARenewedLeaseKeepsItsSlotUntilItsNewEnd) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(extended("a", holding_of(claim), 10s), "");
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(facts(id).slot_left, 10s);
  let_time_pass(10s - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  claimed_as_next(id, "b");
}

TEST_P(ActConformance, OnlyTheRevokedDeliverySaysStopped) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  stopped(claim);
  EXPECT_EQ(extended("a", holding_of(claim)), "") << "it was not revoked, so nothing is free";
  EXPECT_EQ(retried(id), "");
  must(store().stopped({.ns = "default", .owner = "b", .jobs = {holding_of(claim)}}));
  must(store().stopped({.ns = "default", .owner = "a", .jobs = {{id, claim.job.fence + 1}, {new_id(), 1}}}));
  must(store().stopped({.ns = "other", .owner = "a", .jobs = {holding_of(claim)}}));
  EXPECT_TRUE(claimed(asking("c")).empty());
  stopped(claim);
  stopped(claim);
  const ClaimedJob again = claimed_as_next(id, "c");
  stopped(claim);
  EXPECT_EQ(extended("c", holding_of(again)), "");
  EXPECT_EQ(code_of(store().stopped({.ns = "default", .owner = "", .jobs = {}})), Code::invalid);
  EXPECT_EQ(code_of(store().orders("a b", "a")), Code::invalid);
}

TEST_P(ActConformance, ARepeatedClaimDoesNotReturnARevokedDelivery) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  ASSERT_EQ(claimed_ids(request), std::vector{id});
  EXPECT_EQ(retried(id), "");
  EXPECT_TRUE(claimed(request).empty());
  must(give_back(request));
  EXPECT_TRUE(claimed(asking("b")).empty()) << "a give back frees no slot of a revoked delivery";
}

}  // namespace
}  // namespace fenceline::test
