// What every store promises about a person who moves an item: a delivery under way is revoked as by cancel (J3), a
// doubt about an effect is not passed over, and a gate stays shut until somebody opens it.
#include <atomic>

#include "conformance/conformance.hpp"
#include "support/comes_about.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(PipelineConformance, AReadyItemIsMovedUnderItsOldFence) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::failed, .error = "no", .retry_in = 1h, .exit_status = 3}),
            "");
  const Job before = look(id);
  let_time_pass(1s);
  EXPECT_EQ(moved(id, "two"), "");
  Job expected = before;
  expected.stage = "two";
  expected.run_at = wall();
  expected.failures = 0;
  EXPECT_EQ(look(id), expected);
  EXPECT_EQ(attempts(id).size(), 1u);
  claimed_at("two", id);
}

TEST_P(PipelineConformance, AnItemThatWaitsAtAGateGoesOnUnderItsOldFence) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(advanced(claim, "gate:two", JobState::waiting), "");
  let_time_pass(1h);
  EXPECT_EQ(moved(id, "two"), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.run_at, wall());
  EXPECT_EQ(job.fence, claim.job.fence);
  EXPECT_EQ(job.last_outcome, OutcomeKind::done);
  EXPECT_EQ(attempts(id).size(), 1u);
  EXPECT_GT(claimed_at("two", id, "b").job.fence, claim.job.fence);
}

TEST_P(PipelineConformance, J3_ARunningItemIsMovedUnderANewFenceAndItsSlotStaysTaken) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(1s);
  EXPECT_EQ(moved(id, "two"), "");
  const Job job = look(id);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.stage, "two");
  EXPECT_GT(job.fence, claim.job.fence);
  EXPECT_EQ(job.owner, "");
  EXPECT_FALSE(job.lease_left);
  EXPECT_EQ(job.last_outcome, std::nullopt);
  EXPECT_EQ(attempts(id).back().end, AttemptEnd::cancelled);
  EXPECT_EQ(attempts(id).back().ended_at, wall());
  EXPECT_EQ(facts(id).slot_left, kTtl - 1s);
  EXPECT_EQ(must(store().orders("default", "a")).revoked, std::vector{holding_of(claim)});
  EXPECT_TRUE(must(store().orders("default", "a")).held.empty());
  EXPECT_EQ(ended(claim), "superseded");
  EXPECT_EQ(extended("a", holding_of(claim)), "superseded");
  EXPECT_EQ(advanced(claim, "three"), "superseded");
  EXPECT_EQ(look(id), job);
  EXPECT_TRUE(claimed(asking_at("two", "b")).empty()) << "its worker has not stopped";
  EXPECT_EQ(must(store().backlog({.ns = "default", .queues = {"q"}, .stage = "two"})).blocked, 1);
  stopped(claim);
  const ClaimedJob next = claimed_at("two", id, "b");
  EXPECT_GT(next.job.fence, job.fence);
  EXPECT_FALSE(next.forced);
  EXPECT_EQ(next.job.losses, 0);
}

TEST_P(PipelineConformance, J3_AMovedRunningItemIsClaimableWhenItsLeaseWouldHaveEnded) {
  const JobId id = added(new_job());
  claimed_as_next(id);
  EXPECT_EQ(moved(id, "two"), "");
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(asking_at("two", "b")).empty());
  let_time_pass(kMoment);
  claimed_at("two", id, "b");
}

TEST_P(PipelineConformance, J3_AnItemWhoseLeaseRanOutIsClaimableAtOnceWhereItWasPut) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  let_time_pass(kTtl);
  EXPECT_EQ(moved(id, "two"), "");
  EXPECT_EQ(advanced(claim, "three"), "superseded");
  EXPECT_TRUE(claimed(asking("b")).empty());
  const ClaimedJob next = claimed_at("two", id, "b");
  EXPECT_FALSE(next.forced);
  EXPECT_EQ(next.job.losses, 0);
}

TEST_P(PipelineConformance, J7_ARevokedDeliveryKeepsTheSlotsOfItsItem) {
  set_queue({.limit = 2, .limit_per_key = 1});
  NewJob job = new_job();
  job.limit_key = "k";
  job.group = "g";
  added(job);
  NewJob same_key = new_job();
  same_key.limit_key = "k";
  added(same_key);
  NewJob same_group = new_job();
  same_group.group = "g";
  added(same_group);
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_EQ(moved(job.id, "", JobState::cancelled), "");
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
  EXPECT_EQ(facts(same_group.id).group_head, job.id);
  EXPECT_TRUE(facts(same_group.id).group_head_revoked);
  EXPECT_EQ(facts(same_key.id).limit_key_holders, std::vector{job.id});
  stopped(claim);
  EXPECT_EQ(claimed_ids(asking("b", 10)), (std::vector{same_key.id, same_group.id}));
}

TEST_P(PipelineConformance, ARunningItemIsPutOnWaitingAndOnFromThere) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(moved(id, "gate:two", JobState::waiting), "");
  const Fence revoked = look(id).fence;
  EXPECT_GT(revoked, claim.job.fence);
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_EQ(moved(id, "two"), "");
  EXPECT_EQ(look(id).fence, revoked) << "it did not run";
  EXPECT_TRUE(claimed(asking_at("two", "b")).empty()) << "its first delivery has its slot still";
  stopped(claim);
  claimed_at("two", id, "b");
}

TEST_P(PipelineConformance, J3_FencesOfAGroupGoOnOverAMove) {
  NewJob job = new_job();
  job.group = "g";
  added(job);
  NewJob next = new_job();
  next.group = "g";
  added(next);
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_EQ(moved(job.id, "", JobState::dead), "");
  const Fence revoked = look(job.id).fence;
  stopped(claim);
  set_wall(wall() - 1h);
  must(store().retry({.ns = "default", .ids = {next.id}, .request = "now", .act = kAct}));
  EXPECT_GT(claimed_as_next(next.id).job.fence, revoked);
}

TEST_P(PipelineConformance, APersonFinishesAnItem) {
  set_queue({.keep_done = 24h, .keep_dead = 72h});
  const JobState states[] = {JobState::done, JobState::dead, JobState::cancelled};
  std::vector<JobId> ids;
  for (const JobState state : states) {
    const JobId ready = added(new_job());
    ids.push_back(ready);
    const Job before = look(ready);
    let_time_pass(1s);
    EXPECT_EQ(moved(ready, "last", state), "");
    Job expected = before;
    expected.stage = "last";
    expected.state = state;
    expected.finished_at = wall();
    EXPECT_EQ(look(ready), expected);
    EXPECT_EQ(moved(ready, "one"), "finished");
    const JobId runs = added(new_job());
    const ClaimedJob claim = claimed_as_next(runs);
    EXPECT_EQ(moved(runs, "last", state), "");
    EXPECT_EQ(look(runs).state, state);
    EXPECT_GT(look(runs).fence, claim.job.fence);
    EXPECT_EQ(ended(claim), "superseded");
    EXPECT_EQ(attempts(runs).back().end, AttemptEnd::cancelled);
    EXPECT_EQ(facts(runs).slot_left, kTtl);
  }
  EXPECT_EQ(queue_row().depth, (std::array<std::int64_t, 6>{0, 0, 0, 2, 2, 2}));
  let_time_pass(24h);
  EXPECT_EQ(tidied(), 2);
  let_time_pass(48h);
  EXPECT_EQ(tidied(), 4);
}

TEST_P(PipelineConformance, AnErrorOfAPersonIsKeptOnlyOnDeadAndIsNoFailure) {
  const JobId id = added(new_job());
  ItemChange change = moving(id, "two", JobState::dead);
  change.place->error = "rejected by ann";
  change.place->fresh = false;
  EXPECT_EQ(changed(change), "");
  const Job job = look(id);
  EXPECT_EQ(job.error, "rejected by ann");
  EXPECT_EQ(job.failures, 0);
  EXPECT_EQ(job.last_outcome, std::nullopt);
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(look(id).error, "rejected by ann") << "the last one, also before the first delivery";
  const ClaimedJob claim = claimed_at("two", id);
  EXPECT_EQ(claim.job.error, "rejected by ann");
  EXPECT_EQ(look(id).error, "rejected by ann");
  const JobState others[] = {JobState::ready, JobState::waiting, JobState::done, JobState::cancelled};
  for (const JobState state : others) {
    const JobId other = added(new_job());
    change = moving(other, "two", state);
    change.place->error = "not kept";
    EXPECT_EQ(changed(change), "");
    EXPECT_EQ(look(other).error, "");
  }
}

TEST_P(PipelineConformance, APersonDelaysAnItem) {
  const JobId id = added(new_job());
  ItemChange change = moving(id, "gate:two");
  change.place->delay = 10s;
  EXPECT_EQ(changed(change), "");
  EXPECT_TRUE(ids_at("gate:two").empty());
  let_time_pass(10s);
  claimed_at("gate:two", id);
}

TEST_P(PipelineConformance, AWorkerIsToldOfARevokedDelivery) {
  const JobId id = added(new_job());
  claimed_as_next(id);
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {}, .stage = "", .orders = true}, [&] { ++told; });
  EXPECT_EQ(moved(id, "two"), "");
  EXPECT_TRUE(comes_about([&] { return told > 0; }));
}

TEST_P(PipelineConformance, WhoWatchesTheNewStageIsToldWhenTheRevokedDeliveryHasStopped) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(moved(id, "two"), "");
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {"q"}, .stage = "two"}, [&] { ++told; });
  const int before = told;
  stopped(claim);
  EXPECT_TRUE(comes_about([&] { return told > before; }));
}

TEST_P(PipelineConformance, ACancelOrPurgeOfAnItemAtAGateFinishesIt) {
  const JobId first = added(new_job());
  const JobId second = added(new_job());
  EXPECT_EQ(moved(first, "gate:two", JobState::waiting), "");
  EXPECT_EQ(moved(second, "gate:two", JobState::waiting), "");
  EXPECT_EQ(cancelled(first), "");
  EXPECT_EQ(look(first).state, JobState::cancelled);
  EXPECT_EQ(look(first).fence, 0) << "nobody was ever granted it";
  EXPECT_EQ(must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct})).cancelled, 1);
  EXPECT_EQ(look(second).state, JobState::cancelled);
  EXPECT_EQ(look(second).fence, 0);
  EXPECT_EQ(item(second).record, "at gate:two");
  EXPECT_EQ(retried(second), "");
  claimed_at("gate:two", second);
}

TEST_P(PipelineConformance, AnItemThatWaitsAfterADeliveryIsCancelledUnderANewFence) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(advanced(claim, "gate:two", JobState::waiting), "");
  EXPECT_EQ(cancelled(id), "");
  EXPECT_GT(look(id).fence, claim.job.fence);
  EXPECT_EQ(look(id).owner, "");
  EXPECT_FALSE(facts(id).slot_left);
}

TEST_P(PipelineConformance, E2_AnEffectThatNobodyWaitsForOpensNoGate) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(begun(calling(claim, "c1")), "act");
  EXPECT_EQ(begun(calling(claim, "c2", "mail")), "act");
  EXPECT_EQ(begun(calling(claim, "c3", "log")), "act");
  EXPECT_EQ(advanced(claim, "gate:two", JobState::waiting), "");
  EXPECT_TRUE(effect(id).in_doubt);
  EXPECT_TRUE(facts(id).effects_in_doubt.empty());
  EXPECT_EQ(finished(calling(claim, "c2", "mail"), EffectEnd::done), "") << "late, under the newest fence";
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_EQ(resolved(id, true), "");
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_EQ(finished(calling(claim, "c3", "log"), EffectEnd::held), "");
  EXPECT_TRUE(facts(id).effects_in_doubt.empty()) << "it waits for a gate, not for that";
  EXPECT_FALSE(effect(id, "log").held);
  EXPECT_EQ(moved(id, "two"), "");
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(begun(calling(claimed_at("two", id), "c4", "log")), "held") << "the doubt is met where it is begun again";
}

TEST_P(PipelineConformance, E2_AnItemThatWaitsForAnEffectIsReadyAtItsStageWhenThatIsKnown) {
  const JobId id = added(new_job());
  EXPECT_EQ(moved(id, "two"), "");
  const ClaimedJob lost = claimed_at("two", id, "dies");
  EXPECT_EQ(begun(calling(lost, "lost")), "act");
  let_time_pass(kTtl);
  const ClaimedJob next = claimed_at("two", id);
  EXPECT_EQ(begun(calling(next, "meets")), "held");
  EXPECT_EQ(advanced(next, "three"), "settled") << "its delivery ended by the doubt";
  EXPECT_EQ(moved(id, "three"), "effect_in_doubt");
  stopped(next);
  EXPECT_EQ(resolved(id, true), "");
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(look(id).stage, "two");
  EXPECT_EQ(moved(id, "three"), "");
}

TEST_P(PipelineConformance, E2_ADoubtOfARevokedDeliveryGoesWithTheItem) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(begun(calling(claim, "c1")), "act");
  EXPECT_EQ(moved(id, "two"), "");
  EXPECT_TRUE(effect(id).in_doubt);
  EXPECT_EQ(finished(calling(claim, "c1"), EffectEnd::done), "superseded");
  EXPECT_EQ(resolved(id, true), "refused") << "its holder may still be at it";
  stopped(claim);
  EXPECT_EQ(begun(calling(claimed_at("two", id, "b"), "c2")), "held");
}

}  // namespace
}  // namespace fenceline::test
