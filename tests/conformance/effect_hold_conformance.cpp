// What every store promises about a job that waits because one of its effects is in doubt (E2): at no cost, by name,
// for an operator, and in its old place after.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(EffectConformance, E2_AHeldJobWaitsAtNoCostAndItsHoldersLateWordIsRefused) {
  const JobId id = added(new_job());
  const ClaimedJob job = held(id);
  const Job waiting = look(id);
  EXPECT_EQ(waiting.state, JobState::waiting);
  EXPECT_EQ(waiting.fence, job.job.fence);
  EXPECT_EQ(waiting.owner, job.job.owner);
  EXPECT_EQ(waiting.lease_left, std::nullopt);
  EXPECT_EQ(waiting.failures, 0);
  EXPECT_EQ(waiting.losses_in_row, 0);
  EXPECT_EQ(waiting.last_outcome, std::nullopt);
  EXPECT_TRUE(effect(id).held);
  EXPECT_TRUE(effect(id).in_doubt);
  EXPECT_EQ(ended(job), "settled");
  EXPECT_EQ(ended(job, {.kind = OutcomeKind::failed}), "settled");
  EXPECT_EQ(extended(job.job.owner, holding_of(job)), "settled");
  EXPECT_EQ(look(id), waiting);
  const std::vector<Attempt> attempts = must(store().attempts("default", id));
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].end, AttemptEnd::lost);
  EXPECT_EQ(attempts[1].end, AttemptEnd::held);
  EXPECT_EQ(attempts[1].ended_at, wall());
}

TEST_P(EffectConformance, J8_AWaitingJobNamesWhomItWaitsForAndNobodyCanClaimIt) {
  const JobId id = added(new_job());
  held(id);
  EXPECT_EQ(facts(id).effects_in_doubt, std::vector<std::string>{"pay"});
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
  let_time_pass(24h);
  EXPECT_TRUE(claimed(asking("b", 10)).empty()) << "no time ends it";
  const BacklogReply backlog = must(store().backlog({.ns = "default", .queues = {"q"}}));
  EXPECT_FALSE(backlog.running || backlog.claimable);
  EXPECT_EQ(backlog.ahead + backlog.blocked, 0);
}

TEST_P(EffectConformance, J4_AWaitingJobIsCountedAndListedAsSuch) {
  NewJob tagged = new_job();
  tagged.tags = {"blue"};
  const JobId id = added(tagged);
  held(id);
  added(new_job());
  const QueueRow row = queue_row();
  EXPECT_EQ(row.depth_of(JobState::waiting), 1);
  EXPECT_EQ(row.depth_of(JobState::ready), 1);
  EXPECT_EQ(row.depth_of(JobState::running), 0);
  const auto in_state = [&](JobState state, const std::string& tag = "", const std::string& queue = "q") {
    return ids_of(must(store().jobs({.ns = "default", .queue = queue, .state = state, .tag = tag})).jobs);
  };
  EXPECT_EQ(in_state(JobState::waiting), std::vector{id});
  EXPECT_EQ(in_state(JobState::waiting, "blue"), std::vector{id});
  EXPECT_TRUE(in_state(JobState::waiting, "", "r").empty());
  EXPECT_EQ(in_state(JobState::ready).size(), 1u);
  EXPECT_TRUE(in_state(JobState::ready, "blue").empty());
  EXPECT_TRUE(in_state(JobState::running).empty());
  EXPECT_EQ(everything().size(), 2u);
}

TEST_P(EffectConformance, E2_WhoAsksAgainIsToldThatTheJobWaits) {
  const JobId id = added(new_job());
  const ClaimedJob job = held(id);
  EXPECT_EQ(begun(calling(job, "meets")), "held") << "a repeat";
  EXPECT_EQ(begun(calling(job, "other", "mail")), "lost settled") << "nothing else is begun";
  EXPECT_EQ(must(store().effects({.ns = "default", .job = id})).effects.size(), 1u);
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_EQ(begun(calling(job, "meets")), "lost settled") << "it waits no more";
}

TEST_P(EffectConformance, E2_ResolvedAsDoneItIsReplayed) {
  const JobId id = added(new_job());
  stopped(held(id));
  EXPECT_EQ(resolved(id, true, "receipt 7"), "");
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(effect(id).resolved_by, kAct.actor);
  EXPECT_EQ(effect(id).ended_at, wall());
  EXPECT_FALSE(effect(id).held || effect(id).in_doubt);
  const BeginEffectReply reply = must(store().begin_effect(calling(claimed_as_next(id), "next")));
  EXPECT_EQ(reply.verdict, EffectVerdict::done);
  EXPECT_EQ(reply.result, "receipt 7");
  EXPECT_EQ(reply.exit_status, std::nullopt);
}

TEST_P(EffectConformance, E2_ResolvedAsNoneItIsDoneAnew) {
  const JobId id = added(new_job());
  stopped(held(id));
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(begun(calling(claimed_as_next(id), "next")), "act");
  EXPECT_EQ(effect(id).resolved_by, "") << "the intent is a new one";
  EXPECT_EQ(effect(id).doubts, 0);
}

TEST_P(EffectConformance, E2_WhatAnOperatorSaidStandsInTheTrailOnce) {
  const JobId id = added(new_job());
  held(id);
  EXPECT_EQ(resolved(id, true, "x"), "");
  EXPECT_EQ(resolved(id, true, "y"), "") << "as asked for already";
  EXPECT_EQ(effect(id).result, "x");
  EXPECT_EQ(resolved(id, false), "refused") << "what is done stays so";
  const std::vector<TrailEntry> entries = trail();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].act, "effect_resolved");
  EXPECT_EQ(entries[0].subject, to_string(id) + " pay done");
  EXPECT_EQ(entries[0].actor, kAct.actor);
  EXPECT_EQ(entries[0].reason, kAct.reason);
}

TEST_P(EffectConformance, E2_OnlyADoubtCanBeResolved) {
  const JobId id = added(new_job());
  EXPECT_EQ(resolved(new_id(), true), "not_found");
  EXPECT_EQ(resolved(id, true), "not_found");
  const ClaimedJob job = claimed_as_next(id);
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  EXPECT_EQ(resolved(id, true), "refused") << "its holder is at it";
  EXPECT_EQ(resolved(id, false), "refused");
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::none), "");
  EXPECT_EQ(resolved(id, true), "refused") << "it is known not to have happened";
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_TRUE(trail().empty());
}

TEST_P(EffectConformance, E2_ALateWordSaysNothingOfALaterDoubt) {
  const JobId id = added(new_job());
  stopped(held(id));
  ResolveEffectRequest none{
      .ns = "default", .job = id, .name = "pay", .call = "lost", .done = false, .result = {}, .act = kAct};
  must(store().resolve_effect(none));
  const ClaimedJob again = claimed_as_next(id);
  EXPECT_EQ(begun(calling(again, "second")), "act");
  let_time_pass(kTtl);
  EXPECT_EQ(code_of(store().resolve_effect(none)), Code::refused);
  none.call = "second";
  EXPECT_EQ(code_of(store().resolve_effect(none)), std::nullopt);
}

TEST_P(EffectConformance, E2_ACallMayEndItsOwnDoubt) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  const BeginEffectRequest request = calling(job, "c1");
  EXPECT_EQ(begun(request), "act");
  EXPECT_EQ(finished(request, EffectEnd::held), "");
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_EQ(finished(request, EffectEnd::held), "") << "a repeat";
  EXPECT_EQ(begun(request), "held");
  EXPECT_EQ(finished(request, EffectEnd::done, "it came after all"), "");
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(effect(id).result, "it came after all");
  EXPECT_EQ(ended(job), "settled") << "its delivery was over before";
}

TEST_P(EffectConformance, E2_AReleasedJobIsInItsOldPlace) {
  const JobId first = added(new_job());
  stopped(held(first));
  const JobId second = added(new_job());
  EXPECT_EQ(resolved(first, false), "");
  EXPECT_EQ(look(first).run_at, look(first).created_at);
  EXPECT_EQ(claimable_ids(), (std::vector{first, second}));
}

TEST_P(EffectConformance, J7_AGroupWaitsBehindItsHeadThatWaits) {
  NewJob head = new_job();
  head.group = "g";
  NewJob next = new_job();
  next.group = "g";
  added(head);
  added(next);
  stopped(held(head.id));
  EXPECT_TRUE(claimable_ids().empty());
  EXPECT_EQ(facts(next.id).group_head, head.id);
  EXPECT_EQ(facts(head.id).group_head, std::nullopt);
  EXPECT_EQ(must(store().backlog({.ns = "default", .queues = {"q"}})).blocked, 1);
  EXPECT_EQ(resolved(head.id, true), "");
  EXPECT_EQ(claimable_ids(), std::vector{head.id});
  EXPECT_EQ(ended(claimed_as_next(head.id)), "");
  EXPECT_EQ(claimable_ids(), std::vector{next.id});
}

TEST_P(EffectConformance, J7_AWaitingJobWhoseWorkerStoppedHasNoSlotOfItsQueueOrLimitKey) {
  set_queue({.limit = 1, .limit_per_key = 1});
  NewJob first = new_job();
  first.limit_key = "x";
  NewJob second = new_job();
  second.limit_key = "x";
  added(first);
  stopped(held(first.id));
  added(second);
  const ClaimedJob running = claimed_as_next(second.id);
  EXPECT_EQ(resolved(first.id, false), "");
  EXPECT_TRUE(claimed(asking("b")).empty()) << "the slot is taken now";
  EXPECT_EQ(facts(first.id).limit, 1);
  EXPECT_EQ(facts(first.id).limit_per_key, 1);
  EXPECT_EQ(ended(running), "");
  EXPECT_EQ(claimable_ids(), std::vector{first.id});
}

TEST_P(EffectConformance, J6_AWaitingJobKeepsItsUniqueKey) {
  NewJob job = new_job();
  job.key = "k";
  added(job);
  held(job.id);
  NewJob same = new_job();
  same.key = "k";
  same.payload = job.payload;
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {same}})).ids, std::vector{job.id});
}

TEST_P(EffectConformance, J3_RetryOfAJobThatWaitsForAnEffectIsRefused) {
  const JobId id = added(new_job());
  held(id);
  EXPECT_EQ(retried(id), "effect_in_doubt");
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_TRUE(trail().empty());
}

TEST_P(EffectConformance, J4_ACancelledOneWaitsForNothingAnyMoreAndItsDoubtStays) {
  NewJob head = new_job();
  head.group = "g";
  NewJob next = new_job();
  next.group = "g";
  added(head);
  added(next);
  const ClaimedJob job = held(head.id);
  stopped(job);
  EXPECT_EQ(cancelled(head.id), "");
  EXPECT_EQ(look(head.id).state, JobState::cancelled);
  EXPECT_EQ(queue_row().depth_of(JobState::waiting), 0);
  EXPECT_EQ(queue_row().depth_of(JobState::cancelled), 1);
  EXPECT_EQ(claimable_ids(), std::vector{next.id});
  EXPECT_FALSE(effect(head.id).held);
  EXPECT_TRUE(effect(head.id).in_doubt);
  EXPECT_EQ(begun(calling(job, "meets")), "lost superseded");
  EXPECT_EQ(must(store().attempts("default", head.id)).back().end, AttemptEnd::held);
  EXPECT_EQ(retried(head.id), "") << "whoever runs it meets the doubt again";
  EXPECT_EQ(ended(claimed_as_next(next.id)), "");
  EXPECT_EQ(begun(calling(claimed_as_next(head.id), "later")), "held");
}

TEST_P(EffectConformance, J4_APurgeCancelsWaitingJobsToo) {
  const JobId waiting = added(new_job());
  held(waiting);
  const JobId ready = added(new_job());
  const PurgeReply reply = must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct}));
  EXPECT_EQ(reply.cancelled, 2);
  EXPECT_EQ(look(waiting).state, JobState::cancelled);
  EXPECT_EQ(look(ready).state, JobState::cancelled);
  EXPECT_EQ(queue_row().depth_of(JobState::waiting), 0);
  EXPECT_EQ(queue_row().depth_of(JobState::cancelled), 2);
  EXPECT_FALSE(effect(waiting).held);
}

TEST_P(EffectConformance, E2_AJobThatWaitsForTwoGoesOnWhenBothAreKnown) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  EXPECT_EQ(begun(calling(job, "c2", "mail")), "act");
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::held), "");
  EXPECT_EQ(finished(calling(job, "c2", "mail"), EffectEnd::held), "");
  EXPECT_EQ(facts(id).effects_in_doubt, (std::vector<std::string>{"mail", "pay"}));
  stopped(job);
  EXPECT_EQ(resolved(id, true), "");
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_EQ(facts(id).effects_in_doubt, std::vector<std::string>{"mail"});
  EXPECT_EQ(resolved(id, false, "", "mail"), "");
  EXPECT_EQ(look(id).state, JobState::ready);
}

TEST_P(EffectConformance, E2_ADoubtMayBeResolvedWhileANewerHolderRuns) {
  const JobId id = added(new_job());
  const ClaimedJob job = left_in_doubt(id);
  EXPECT_EQ(resolved(id, true, "found"), "") << "nobody is at it under its own fence";
  EXPECT_EQ(look(id).state, JobState::running);
  EXPECT_EQ(begun(calling(job, "c2")), "done");
}

TEST_P(EffectConformance, E2_RetentionKeepsAJobWithADoubtUntilItIsResolved) {
  const JobId id = added(new_job());
  held(id);
  EXPECT_EQ(cancelled(id), "");
  const JobId other = added(new_job());
  EXPECT_EQ(cancelled(other), "");
  let_time_pass(kKeepDeadDefault);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(ids_of(everything()), std::vector{id});
  EXPECT_EQ(resolved(id, false), "");
  EXPECT_EQ(tidied(), 1);
  EXPECT_TRUE(must(store().effects({.ns = "default", .job = {}})).effects.empty())
      << "an effect lives as long as its job";
}

TEST_P(EffectConformance, L2_ANamespaceGoesWithItsEffectsAndNeverGetsAnOldFence) {
  const JobId id = added(new_job());
  const Fence last = held(id).job.fence;
  must(store().remove_namespace("default", kAct));
  EXPECT_TRUE(must(store().effects({.ns = "default", .job = {}})).effects.empty());
  EXPECT_TRUE(everything().empty());
  set_wall(wall() - 1h);
  NewJob anew = new_job();
  anew.id = id;
  added(anew);
  const ClaimedJob job = claimed_as_next(id);
  EXPECT_GT(job.job.fence, last);
  EXPECT_EQ(begun(calling(job, "c1")), "act") << "nothing is left of it";
  EXPECT_EQ(queue_row().depth_of(JobState::waiting), 0);
}

TEST_P(EffectConformance, J4_OneOfManyThatAreAlikeWaitsAlone) {
  EnqueueRequest request{.ns = "default"};
  for (int i = 0; i < 20; ++i) request.jobs.push_back(new_job());
  must(store().enqueue(request));
  const ClaimRequest asked = asking("a", 20);
  const std::vector<ClaimedJob> jobs = claimed(asked);
  ASSERT_EQ(jobs.size(), 20u);
  const ClaimedJob& one = jobs[7];
  EXPECT_EQ(begun(calling(one, "c1")), "act");
  EXPECT_EQ(finished(calling(one, "c1"), EffectEnd::held), "");
  EXPECT_EQ(claimed(asked).size(), 19u) << "a repeat of the claim does not show it";
  EXPECT_EQ(queue_row().depth_of(JobState::running), 19);
  SettleRequest settle{.ns = "default", .owner = "a"};
  for (const ClaimedJob& job : jobs)
    settle.settlements.push_back({job.job.id, job.job.fence, {.kind = OutcomeKind::done}});
  const SettleReply reply = must(store().settle(settle));
  ASSERT_EQ(reply.refused.size(), 1u);
  EXPECT_EQ(reply.refused[0], (Refusal{one.job.id, one.job.fence, one.job.fence, Reason::settled}));
  EXPECT_EQ(queue_row().depth_of(JobState::done), 19);
  EXPECT_EQ(queue_row().depth_of(JobState::waiting), 1);
  stopped(one);
  EXPECT_EQ(resolved(one.job.id, true), "");
  EXPECT_EQ(claimable_ids(), std::vector{one.job.id});
}

}  // namespace
}  // namespace fenceline::test
