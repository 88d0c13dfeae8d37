// What every store promises about a holder that moves its item: the end of the delivery, the new place and the record
// are one step (P2), under the newest fence or not at all (J3).
#include <atomic>

#include "conformance/conformance.hpp"
#include "support/comes_about.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(PipelineConformance, P2_AnAdvanceEndsTheDeliveryMovesTheJobAndReplacesTheRecordInOneStep) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(1s);
  ItemChange change = advancing(claim, "two");
  change.place->result = "of one stage";
  EXPECT_EQ(changed(change), "");
  const Job job = look(id);
  EXPECT_EQ(job.stage, "two");
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.run_at, wall());
  EXPECT_EQ(job.result, "") << "only what is done has one";
  EXPECT_EQ(job.last_outcome, OutcomeKind::done);
  EXPECT_EQ(job.fence, claim.job.fence);
  EXPECT_EQ(job.owner, "a");
  EXPECT_FALSE(job.lease_left);
  EXPECT_FALSE(job.finished_at);
  EXPECT_FALSE(job.exit_status);
  EXPECT_EQ(job.error, "");
  EXPECT_EQ(job.deliveries, 1);
  EXPECT_EQ(item(id).revision, 1);
  EXPECT_EQ(item(id).record, "at two");
  const std::vector<Attempt> history = attempts(id);
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].end, AttemptEnd::done);
  EXPECT_EQ(history[0].ended_at, wall());
  EXPECT_EQ(history[0].fence, claim.job.fence);
  EXPECT_EQ(history[0].error, "");
}

TEST_P(PipelineConformance, P2_AnItemIsClaimedAtItsNewStageOnly) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  EXPECT_EQ(advanced(first, "two"), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_TRUE(claimed(asking_at("three", "b")).empty());
  const BacklogReply here = must(store().backlog({.ns = "default", .queues = {"q"}, .stage = "two"}));
  EXPECT_TRUE(here.claimable);
  const BacklogReply there = must(store().backlog({.ns = "default", .queues = {"q"}}));
  EXPECT_FALSE(there.claimable || there.running);
  EXPECT_EQ(there.ahead + there.blocked, 0);
  const ClaimedJob second = claimed_at("two", id, "b");
  EXPECT_GT(second.job.fence, first.job.fence);
  EXPECT_EQ(second.job.deliveries, 2);
  EXPECT_FALSE(second.forced);
  EXPECT_EQ(second.job.payload, first.job.payload);
  EXPECT_FALSE(must(store().backlog({.ns = "default", .queues = {"q"}})).running);
  EXPECT_TRUE(must(store().backlog({.ns = "default", .queues = {"q"}, .stage = "two"})).running);
  EXPECT_EQ(advanced(second, ""), "") << "back to the first stage";
  claimed_as_next(id);
}

TEST_P(PipelineConformance, J3_ALateAdvanceOfAPausedWorkerIsRefused) {
  const JobId id = added(new_job());
  const ClaimedJob paused = claimed_as_next(id, "paused");
  let_time_pass(kTtl);
  const ClaimedJob next = claimed_as_next(id, "next");
  EXPECT_EQ(advanced(paused, "two"), "superseded");
  EXPECT_EQ(advanced(next, "two"), "");
  EXPECT_EQ(advanced(paused, "two"), "superseded");
  EXPECT_EQ(look(id).losses, 1);
  EXPECT_EQ(ended(claimed_at("two", id, "next")), "");
  EXPECT_EQ(advanced(paused, "two"), "superseded");
  EXPECT_EQ(look(id).state, JobState::done);
  EXPECT_EQ(item(id).revision, 1);
}

TEST_P(PipelineConformance, J3_AnAdvanceNeedsTheNewestFenceAndNotALiveLease) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(kTtl * 2);
  EXPECT_EQ(advanced(claim, "two"), "") << "nobody took over";
  EXPECT_EQ(look(id).losses, 0);
  const ClaimedJob next = claimed_at("two", id, "b");
  EXPECT_FALSE(next.forced);
}

TEST_P(PipelineConformance, J3_OneOutcomeForADelivery) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(advanced(claim, "two"), "");
  const Job job = look(id);
  EXPECT_EQ(advanced(claim, "three"), "settled") << "another request of the same holder";
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::failed}), "settled");
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::later}), "settled");
  EXPECT_EQ(extended("a", holding_of(claim)), "settled");
  EXPECT_EQ(look(id), job);
  const JobId other = added(new_job());
  const ClaimedJob done = claimed_as_next(other);
  EXPECT_EQ(ended(done), "");
  EXPECT_EQ(advanced(done, "two"), "finished");
  const JobId third = added(new_job());
  const ClaimedJob finished = claimed_as_next(third);
  EXPECT_EQ(advanced(finished, "last", JobState::done), "");
  EXPECT_EQ(ended(finished, {.kind = OutcomeKind::dead}), "finished");
  EXPECT_EQ(look(third).state, JobState::done);
}

TEST_P(PipelineConformance, AnotherStageBeginsWithNothingCounted) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::failed, .error = "once"}), "");
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::later}), "");
  lose(id, 2);
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(claim.job.losses_in_row, 2);
  EXPECT_EQ(advanced(claim, "two"), "");
  const Job job = look(id);
  EXPECT_EQ(job.failures, 0);
  EXPECT_EQ(job.losses_in_row, 0);
  EXPECT_EQ(job.laters, 0);
  EXPECT_EQ(job.losses, 2) << "all that ever were";
  EXPECT_EQ(job.error, "once") << "the last one";
  EXPECT_EQ(job.deliveries, 5);
  EXPECT_FALSE(facts(id).must_run_alone);
}

TEST_P(PipelineConformance, WhatIsNotFreshKeepsItsCounters) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::failed}), "");
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::later}), "");
  lose(id, 1);
  ItemChange change = advancing(claimed_as_next(id), "two");
  change.place->fresh = false;
  EXPECT_EQ(changed(change), "");
  Job job = look(id);
  EXPECT_EQ(job.failures, 1);
  EXPECT_EQ(job.laters, 1);
  EXPECT_EQ(job.losses_in_row, 0) << "a delivery that came to an end of its own";
  change = moving(id, "three");
  change.place->fresh = false;
  EXPECT_EQ(changed(change), "");
  job = look(id);
  EXPECT_EQ(job.failures, 1);
  EXPECT_EQ(job.laters, 1);
}

TEST_P(PipelineConformance, AnErrorMeansThatTheDeliveryFailed) {
  const JobId id = added(new_job());
  EXPECT_EQ(advanced(claimed_as_next(id), "one"), "");
  ItemChange change = advancing(claimed_at("one", id), "one");
  change.place->fresh = false;
  change.place->delay = 10s;
  change.place->error = "ca\xc3\xa9n";
  EXPECT_EQ(changed(change), "");
  Job job = look(id);
  EXPECT_EQ(job.failures, 1);
  EXPECT_EQ(job.error, change.place->error);
  EXPECT_EQ(job.last_outcome, OutcomeKind::failed);
  EXPECT_EQ(job.run_at, wall() + 10s);
  const std::vector<Attempt> history = attempts(id);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[1].end, AttemptEnd::failed);
  EXPECT_EQ(history[1].error, change.place->error);
  let_time_pass(10s);
  change = advancing(claimed_at("one", id), "one", JobState::dead);
  change.place->fresh = false;
  change.place->error = "again";
  EXPECT_EQ(changed(change), "");
  job = look(id);
  EXPECT_EQ(job.state, JobState::dead);
  EXPECT_EQ(job.failures, 2);
  EXPECT_EQ(job.finished_at, wall());
  EXPECT_EQ(job.last_outcome, OutcomeKind::failed);
  EXPECT_EQ(attempts(id).back().end, AttemptEnd::failed);
}

TEST_P(PipelineConformance, AFailureThatGoesToAnotherStageIsNotCountedThere) {
  const JobId id = added(new_job());
  ItemChange change = advancing(claimed_as_next(id), "repair");
  change.place->error = "broken";
  EXPECT_EQ(changed(change), "");
  EXPECT_EQ(look(id).failures, 0);
  EXPECT_EQ(look(id).error, "broken");
  EXPECT_EQ(look(id).last_outcome, OutcomeKind::failed);
}

TEST_P(PipelineConformance, TheExitStatusOfADeliveryBeforeIsNotThatOfAnAdvance) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::failed, .exit_status = 3}), "");
  EXPECT_EQ(advanced(claimed_as_next(id), "two"), "");
  EXPECT_FALSE(look(id).exit_status);
  EXPECT_FALSE(attempts(id).back().exit_status);
}

TEST_P(PipelineConformance, ADelayedItemIsNotClaimedBeforeItsTime) {
  const JobId id = added(new_job());
  ItemChange change = advancing(claimed_as_next(id), "two");
  change.place->delay = 10s;
  EXPECT_EQ(changed(change), "");
  EXPECT_EQ(look(id).run_at, wall() + 10s);
  EXPECT_EQ(facts(id).due_in, 10s);
  EXPECT_EQ(queue_row().ahead, 1);
  EXPECT_EQ(must(store().claim(asking_at("two"))).next_due, 10s);
  let_time_pass(10s - kMoment);
  EXPECT_TRUE(claimed(asking_at("two")).empty());
  let_time_pass(kMoment);
  claimed_at("two", id);
}

TEST_P(PipelineConformance, AtAStageTheyGoByPriorityRunTimeAndTheirOwnOrder) {
  NewJob urgent = new_job();
  urgent.priority = 5;
  const JobId first = added(new_job());
  const JobId second = added(new_job());
  const JobId third = added(new_job());
  added(urgent);
  std::vector<ClaimedJob> claims = claimed(asking("a", 10));
  ASSERT_EQ(claims.size(), 4u);
  for (const ClaimedJob& claim : claims) {
    if (claim.job.id != third) continue;
    EXPECT_EQ(advanced(claim, "two"), "");
  }
  let_time_pass(1s);
  for (auto claim = claims.rbegin(); claim != claims.rend(); ++claim) {
    if (claim->job.id == third) continue;
    EXPECT_EQ(advanced(*claim, "two"), "");
  }
  EXPECT_EQ(ids_at("two"), (std::vector{urgent.id, third, first, second}));
}

TEST_P(PipelineConformance, AnItemThatWaitsAtAGateIsNotClaimable) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(1s);
  EXPECT_EQ(advanced(claim, "gate:two", JobState::waiting), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::waiting);
  EXPECT_EQ(job.stage, "gate:two");
  EXPECT_EQ(job.run_at, wall());
  EXPECT_FALSE(job.finished_at);
  EXPECT_FALSE(job.lease_left);
  EXPECT_TRUE(ids_at("gate:two").empty());
  EXPECT_TRUE(ids_at("").empty());
  let_time_pass(24h);
  EXPECT_TRUE(ids_at("gate:two").empty()) << "no time ends it";
  EXPECT_TRUE(facts(id).effects_in_doubt.empty());
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(look(id).state, JobState::waiting) << "a retry opens no gate";
  EXPECT_EQ(tidied(), 0);
}

TEST_P(PipelineConformance, J4_ItemsAreCountedByTheirState) {
  const JobId gate = added(new_job());
  const JobId next = added(new_job());
  const JobId last = added(new_job());
  std::vector<ClaimedJob> claims = claimed(asking("a", 10));
  ASSERT_EQ(claims.size(), 3u);
  EXPECT_EQ(queue_row().depth_of(JobState::running), 3);
  EXPECT_EQ(advanced(claims[0], "gate:two", JobState::waiting), "");
  EXPECT_EQ(advanced(claims[1], "two"), "");
  EXPECT_EQ(advanced(claims[2], "two", JobState::done), "");
  const QueueRow row = queue_row();
  EXPECT_EQ(row.depth, (std::array<std::int64_t, 6>{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(row.oldest_ready_at, wall());
  const auto in_state = [&](JobState state) {
    return ids_of(must(store().jobs({.ns = "default", .queue = "q", .state = state})).jobs);
  };
  EXPECT_EQ(in_state(JobState::waiting), std::vector{gate});
  EXPECT_EQ(in_state(JobState::ready), std::vector{next});
  EXPECT_EQ(in_state(JobState::done), std::vector{last});
  EXPECT_TRUE(in_state(JobState::running).empty());
}

TEST_P(PipelineConformance, J7_AnAdvanceFreesItsSlots) {
  set_queue({.limit = 1, .limit_per_key = 1});
  NewJob job = new_job();
  job.limit_key = "k";
  added(job);
  NewJob other = new_job();
  other.limit_key = "k";
  added(other);
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(advanced(claim, "two"), "");
  const ClaimedJob second = claimed_as_next(other.id, "b");
  EXPECT_TRUE(claimed(asking_at("two", "c")).empty()) << "the limit counts all stages";
  EXPECT_EQ(facts(job.id).limit_holders, std::vector{other.id});
  EXPECT_EQ(advanced(second, "gate:two", JobState::waiting), "");
  claimed_at("two", job.id, "c");
}

TEST_P(PipelineConformance, J7_AnItemAtAnyStageIsItsGroupsHead) {
  NewJob job = new_job();
  job.group = "g";
  added(job);
  NewJob next = new_job();
  next.group = "g";
  added(next);
  EXPECT_EQ(advanced(claimed_as_next(job.id), "two"), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(facts(next.id).group_head, job.id);
  EXPECT_EQ(advanced(claimed_at("two", job.id), "gate:three", JobState::waiting), "");
  EXPECT_TRUE(claimed(asking("b")).empty()) << "its head waits at a gate";
  EXPECT_EQ(facts(next.id).group_head, job.id);
  EXPECT_FALSE(facts(next.id).group_head_revoked);
  EXPECT_EQ(moved(job.id, "three"), "");
  const ClaimedJob last = claimed_at("three", job.id);
  EXPECT_EQ(advanced(last, "three", JobState::done), "");
  EXPECT_GT(claimed_as_next(next.id, "b").job.fence, last.job.fence);
}

TEST_P(PipelineConformance, J7_AnItemThatIsPutOnDeadOrCancelledLetsItsGroupGoOn) {
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    NewJob job = new_job();
    job.group = "g";
    ids.push_back(added(job));
  }
  EXPECT_EQ(advanced(claimed_as_next(ids[0]), "", JobState::dead), "");
  EXPECT_EQ(advanced(claimed_as_next(ids[1]), "", JobState::cancelled), "");
  EXPECT_EQ(moved(ids[2], "", JobState::done), "");
  claimed_as_next(ids[3]);
}

TEST_P(PipelineConformance, J6_AUniqueKeyStaysOverStagesUntilTheItemIsFinished) {
  NewJob job = new_job();
  job.key = "k";
  job.key_for = 10s;
  added(job);
  NewJob again = job;
  again.id = new_id();
  const auto taken = [&] { return must(store().enqueue({.ns = "default", .jobs = {again}})).ids.at(0) == job.id; };
  EXPECT_EQ(advanced(claimed_as_next(job.id), "two"), "");
  EXPECT_TRUE(taken());
  again.id = new_id();
  again.stage = "two";
  EXPECT_TRUE(taken()) << "whatever the stage";
  again.stage = "";
  EXPECT_EQ(advanced(claimed_at("two", job.id), "gate:three", JobState::waiting), "");
  again.id = new_id();
  EXPECT_TRUE(taken());
  EXPECT_EQ(moved(job.id, "three", JobState::done), "");
  let_time_pass(10s - kMoment);
  again.id = new_id();
  EXPECT_TRUE(taken());
  let_time_pass(kMoment);
  again.id = new_id();
  EXPECT_FALSE(taken());
  EXPECT_EQ(facts(job.id).key_holder, again.id);
}

TEST_P(PipelineConformance, AnItemPutOnAFinishedStateIsFinishedAsBySettle) {
  set_queue({.keep_done = 24h, .keep_dead = 72h});
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(added(new_job()));
  const std::vector<ClaimedJob> claims = claimed(asking("a", 10));
  ASSERT_EQ(claims.size(), 3u);
  let_time_pass(1s);
  const JobState states[] = {JobState::done, JobState::dead, JobState::cancelled};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(advanced(claims[i], "last", states[i]), "");
    const Job job = look(ids[i]);
    EXPECT_EQ(job.state, states[i]);
    EXPECT_EQ(job.stage, "last");
    EXPECT_EQ(job.finished_at, wall());
    EXPECT_EQ(job.run_at, claims[i].job.run_at);
    EXPECT_EQ(job.fence, claims[i].job.fence);
    EXPECT_EQ(attempts(ids[i]).back().end, AttemptEnd::done);
  }
  EXPECT_FALSE(facts(ids[2]).slot_left) << "its holder has said that it is at an end";
  let_time_pass(24h - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(must(store().job("default", ids[0])), std::nullopt);
  let_time_pass(48h);
  EXPECT_EQ(tidied(), 2);
}

TEST_P(PipelineConformance, TheResultOfTheLastStageIsThatOfTheJob) {
  const std::string bytes("re\0sult \xff\n", 10);
  const JobState states[] = {JobState::done, JobState::dead, JobState::cancelled, JobState::waiting};
  for (const JobState state : states) {
    const JobId id = added(new_job());
    ItemChange change = advancing(claimed_as_next(id), "last", state);
    change.place->result = bytes;
    EXPECT_EQ(changed(change), "");
    EXPECT_EQ(look(id).result, state == JobState::done ? bytes : "");
  }
  const JobId id = added(new_job());
  ItemChange change = advancing(claimed_as_next(id), "last", JobState::done);
  change.place->result = bytes;
  change.place->error = "but";
  EXPECT_EQ(changed(change), "");
  EXPECT_EQ(look(id).result, "") << "a delivery that failed has none";
}

TEST_P(PipelineConformance, ADeadItemIsRetriedAtItsStageWithItsRecord) {
  const JobId id = added(new_job());
  EXPECT_EQ(advanced(claimed_as_next(id), "two", JobState::dead), "");
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(item(id).record, "at two");
  claimed_at("two", id);
}

TEST_P(PipelineConformance, WhoWatchesTheNewStageIsTold) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {"q"}, .stage = "two"}, [&] { ++told; });
  EXPECT_EQ(advanced(claim, "two"), "");
  EXPECT_TRUE(comes_about([&] { return told > 0; }));
  EXPECT_EQ(moved(id, "gate", JobState::waiting), "");
  const int before = told;
  EXPECT_EQ(moved(id, "two"), "");
  EXPECT_TRUE(comes_about([&] { return told > before; }));
}

TEST_P(PipelineConformance, J7_WhoWaitsForASlotOfTheQueueIsToldOfAnAdvance) {
  set_queue({.limit = 1});
  const ClaimedJob claim = claimed_as_next(added(new_job()));
  added(new_job());
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {"q"}, .stage = ""}, [&] { ++told; });
  EXPECT_EQ(advanced(claim, "gate", JobState::waiting), "");
  EXPECT_TRUE(comes_about([&] { return told > 0; }));
}

TEST_P(PipelineConformance, OfAPausedQueueItemsMoveButAreNotClaimed) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  pause();
  EXPECT_EQ(advanced(claim, "two"), "");
  EXPECT_EQ(look(id).stage, "two");
  EXPECT_TRUE(claimed(asking_at("two")).empty());
  EXPECT_EQ(must(store().backlog({.ns = "default", .queues = {"q"}, .stage = "two"})).blocked, 1);
  resume();
  claimed_at("two", id);
}

TEST_P(PipelineConformance, HistoryGoesOverAllStages) {
  const JobId id = added(new_job());
  const ClaimedJob one = claimed_as_next(id);
  must(store().record({.ns = "default", .notes = {{.id = id, .fence = one.job.fence, .log = "at one"}}}));
  EXPECT_EQ(advanced(one, "two"), "");
  const ClaimedJob two = claimed_at("two", id, "b");
  must(store().record({.ns = "default", .notes = {{.id = id, .fence = two.job.fence, .log = "at two"}}}));
  EXPECT_EQ(ended(two), "");
  const std::vector<Attempt> history = attempts(id);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].owner, "a");
  EXPECT_EQ(history[1].owner, "b");
  EXPECT_EQ(history[1].delivery, 2);
  EXPECT_EQ(must(store().log({.ns = "default", .id = id}))->chunks.size(), 2u);
}

TEST_P(PipelineConformance, ARepeatedClaimDoesNotReturnWhatWasAdvanced) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  std::vector<ClaimedJob> claims = claimed(request);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(advanced(claims[0], "two"), "");
  EXPECT_TRUE(claimed(request).empty());
  must(give_back(request));
  EXPECT_EQ(look(id).stage, "two");
  claimed_at("two", id);
}

TEST_P(PipelineConformance, AnAbandonedItemIsTakenOverAtItsStage) {
  const JobId id = added(new_job());
  EXPECT_EQ(advanced(claimed_as_next(id), "two"), "");
  claimed_at("two", id, "dies");
  let_time_pass(kTtl);
  EXPECT_TRUE(claimed(asking("b")).empty());
  const ClaimedJob next = claimed_at("two", id, "b");
  EXPECT_TRUE(next.forced);
  EXPECT_EQ(next.job.losses_in_row, 1);
  EXPECT_EQ(next.previous_owner, "dies");
}

}  // namespace
}  // namespace fenceline::test
