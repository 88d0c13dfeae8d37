// What every store promises about the handler of a delivery that a doubt about an effect ended: the store knows that it
// may still be at work. It keeps its slot (J7), its owner has an order, nobody speaks over it while it may act (E2),
// and what it knows counts.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

std::vector<Holding> ordered(Store& store, const std::string& owner) {
  return must(store.orders("default", owner)).revoked;
}

TEST_P(EffectConformance, J7_AHeldDeliveryKeepsItsSlotOfQueueAndLimitKeyUntilItsWorkerStopped) {
  set_queue({.limit = 1, .limit_per_key = 1});
  NewJob first = new_job();
  first.limit_key = "x";
  NewJob second = new_job();
  second.limit_key = "x";
  added(first);
  const ClaimedJob job = held(first.id);
  added(second);
  EXPECT_TRUE(claimed(asking("b")).empty()) << "its handler may still run";
  EXPECT_EQ(facts(second.id).limit_holders, std::vector{first.id});
  EXPECT_EQ(facts(second.id).limit_key_holders, std::vector{first.id});
  EXPECT_EQ(facts(first.id).slot_left, kTtl);
  stopped(job);
  EXPECT_EQ(facts(first.id).slot_left, std::nullopt);
  EXPECT_EQ(claimable_ids(), std::vector{second.id});
}

TEST_P(EffectConformance, J7_AHeldDeliveryKeepsItsSlotNoLongerThanItsLeaseWouldHaveLasted) {
  set_queue({.limit = 1});
  const JobId first = added(new_job());
  held(first);
  const JobId second = added(new_job());
  let_time_pass(kTtl - 1ms);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(1ms);
  EXPECT_EQ(claimable_ids(), std::vector{second});
}

TEST_P(EffectConformance, J7_OneThatIsHeldAfterItsLeaseHasEndedKeepsNoSlot) {
  set_queue({.limit = 1});
  const JobId first = added(new_job());
  const ClaimedJob job = claimed_as_next(first);
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  let_time_pass(kTtl);
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::held), "");
  EXPECT_EQ(look(first).state, JobState::waiting);
  EXPECT_TRUE(ordered(store(), job.job.owner).empty());
  EXPECT_EQ(resolved(first, false), "");
  EXPECT_EQ(claimable_ids(), std::vector{first});
}

TEST_P(EffectConformance, J7_TheGroupOfACancelledHeldHeadWaitsUntilItsWorkerStopped) {
  NewJob head = new_job();
  head.group = "g";
  NewJob next = new_job();
  next.group = "g";
  added(head);
  added(next);
  const ClaimedJob job = held(head.id);
  EXPECT_EQ(cancelled(head.id), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(facts(next.id).group_head, head.id);
  EXPECT_TRUE(facts(next.id).group_head_revoked);
  stopped(job);
  EXPECT_EQ(claimable_ids(), std::vector{next.id});
}

TEST_P(EffectConformance, J7_AReleasedJobIsGrantedAgainOnlyWhenItsWorkerHasStopped) {
  NewJob grouped = new_job();
  grouped.group = "g";
  for (const NewJob& one : {new_job(), grouped}) {
    const JobId id = added(one);
    const ClaimedJob job = held(id);
    EXPECT_EQ(resolved(id, false), "") << "the doubt is of an older delivery";
    EXPECT_EQ(look(id).state, JobState::ready);
    EXPECT_TRUE(claimed(asking("b")).empty());
    EXPECT_EQ(facts(id).slot_left, kTtl);
    EXPECT_EQ(must(store().backlog({.ns = "default", .queues = {"q"}})).blocked, 1);
    stopped(job);
    EXPECT_EQ(ended(claimed_as_next(id)), "");
  }
}

TEST_P(EffectConformance, J7_AReleasedJobIsGrantedAgainWhenTheLeaseWouldHaveEnded) {
  const JobId id = added(new_job());
  held(id);
  EXPECT_EQ(resolved(id, false), "");
  let_time_pass(kTtl - 1ms);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(1ms);
  const ClaimedJob again = claimed_as_next(id);
  EXPECT_FALSE(again.forced);
  EXPECT_EQ(again.job.losses_in_row, 0);
}

TEST_P(EffectConformance, E2_TheOwnerOfAHeldDeliveryHasAnOrderUntilItStopped) {
  const JobId id = added(new_job());
  const ClaimedJob job = held(id);
  EXPECT_EQ(ordered(store(), job.job.owner), std::vector{holding_of(job)});
  EXPECT_TRUE(ordered(store(), "nobody").empty());
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_EQ(ordered(store(), job.job.owner), std::vector{holding_of(job)}) << "its handler may be at another effect";
  EXPECT_EQ(must(store().orders("default", job.job.owner)).held, std::vector{holding_of(job)}) << "and knows why";
  stopped(job);
  EXPECT_TRUE(ordered(store(), job.job.owner).empty());
}

TEST_P(EffectConformance, J3_WhatTheHandlerOfACancelledWaitingJobStillSaysIsRefused) {
  for (const bool purged : {false, true}) {
    NewJob grouped = new_job();
    grouped.group = "g";
    const JobId id = added(grouped);
    const ClaimedJob job = claimed_as_next(id);
    EXPECT_EQ(begun(calling(job, "c1")), "act");
    EXPECT_EQ(begun(calling(job, "c2", "mail")), "act");
    EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::held), "");
    if (purged) {
      EXPECT_EQ(must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct})).cancelled, 1);
    } else {
      EXPECT_EQ(cancelled(id), "");
    }
    const Job after = look(id);
    EXPECT_EQ(after.state, JobState::cancelled);
    EXPECT_GT(after.fence, job.job.fence);
    EXPECT_EQ(after.owner, "");
    EXPECT_EQ(finished(calling(job, "c2", "mail"), EffectEnd::done, "late"), "superseded");
    EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::none), "superseded");
    EXPECT_EQ(ended(job), "superseded");
    EXPECT_EQ(ordered(store(), job.job.owner), std::vector{holding_of(job)});
    EXPECT_TRUE(must(store().orders("default", job.job.owner)).held.empty()) << "an operator has ended it since";
    stopped(job);
    EXPECT_EQ(retried(id), "");
    const ClaimedJob again = claimed_as_next(id);
    EXPECT_GT(again.job.fence, after.fence);
    EXPECT_EQ(ended(again), "");
  }
}

TEST_P(EffectConformance, E2_NobodySaysWhatBecameOfAnEffectWhileTheHandlerOfAHeldDeliveryMayBeAtIt) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::held), "");
  EXPECT_TRUE(effect(id).in_doubt) << "it is named at once";
  EXPECT_EQ(resolved(id, true), "refused");
  EXPECT_EQ(resolved(id, false), "refused");
  EXPECT_TRUE(trail().empty());
  EXPECT_EQ(look(id).state, JobState::waiting);
  stopped(job);
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_EQ(look(id).state, JobState::ready);
}

TEST_P(EffectConformance, E2_NobodySaysWhatBecameOfAnEffectWhileTheHandlerOfARevokedDeliveryMayBeAtIt) {
  for (const bool cancels : {true, false}) {
    const JobId id = added(new_job());
    const ClaimedJob job = claimed_as_next(id);
    EXPECT_EQ(begun(calling(job, "c1")), "act");
    EXPECT_EQ(cancels ? cancelled(id) : retried(id), "");
    EXPECT_TRUE(effect(id).in_doubt);
    EXPECT_EQ(resolved(id, false), "refused");
    let_time_pass(kTtl - 1ms);
    EXPECT_EQ(resolved(id, false), "refused");
    let_time_pass(1ms);
    EXPECT_EQ(resolved(id, false), "");
    must(store().cancel({.ns = "default", .ids = {id}, .request = "over", .only = {}, .act = kAct}));
  }
}

TEST_P(EffectConformance, E2_WhatTheCallItselfKnowsBeatsWhatAnOperatorGuessed) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  const BeginEffectRequest call = calling(job, "c1");
  EXPECT_EQ(begun(call), "act");
  EXPECT_EQ(finished(call, EffectEnd::held), "");
  let_time_pass(kTtl);
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_EQ(finished(call, EffectEnd::none), "other_call") << "that is known";
  EXPECT_EQ(finished(call, EffectEnd::held), "other_call");
  EXPECT_EQ(finished(calling(job, "c2"), EffectEnd::done, "x"), "other_call") << "only its own call knows";
  EXPECT_EQ(finished(call, EffectEnd::done, "receipt"), "");
  EXPECT_EQ(finished(call, EffectEnd::done, "receipt"), "") << "a repeat";
  const Effect known = effect(id);
  EXPECT_EQ(known.state, EffectState::done);
  EXPECT_EQ(known.result, "receipt");
  EXPECT_EQ(known.resolved_by, "");
  const std::vector<TrailEntry> entries = trail();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].act, "effect_resolved");
  EXPECT_EQ(entries[1].actor, "worker");
  EXPECT_EQ(entries[1].subject, to_string(id) + " pay done");
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(begun(calling(claimed_as_next(id), "next")), "done");
}

TEST_P(EffectConformance, E2_ALateCallKnowsNothingOfWhatWasBegunAgainOrAcknowledgedAsDone) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  const BeginEffectRequest call = calling(job, "c1");
  EXPECT_EQ(begun(call), "act");
  EXPECT_EQ(finished(call, EffectEnd::held), "");
  stopped(job);
  EXPECT_EQ(resolved(id, false), "");
  const ClaimedJob again = claimed_as_next(id);
  EXPECT_EQ(finished(call, EffectEnd::done, "late"), "superseded") << "somebody may act by now";
  EXPECT_EQ(begun(calling(again, "c2")), "act");
  EXPECT_EQ(finished(calling(again, "c2"), EffectEnd::held), "");
  stopped(again);
  EXPECT_EQ(resolved(id, true, "found"), "");
  EXPECT_EQ(finished(calling(again, "c2"), EffectEnd::done, "late"), "other_call")
      << "it is done, with the operator's result";
  EXPECT_EQ(effect(id).result, "found");
}

}  // namespace
}  // namespace fenceline::test
