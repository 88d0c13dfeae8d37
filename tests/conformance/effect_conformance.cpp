// What every store promises about effects: each is done at most once and replayed after (E1), and an intent whose
// holder is gone is in doubt, which its policy decides and nobody else (E2). What becomes of a job that waits for one
// is in effect_hold_conformance.cpp.
#include <stdexcept>

#include "conformance/conformance.hpp"

namespace fenceline::test {

BeginEffectRequest EffectConformance::calling(const ClaimedJob& claimed, const std::string& call, InDoubt in_doubt) {
  return {.ns = "default",
          .job = claimed.job.id,
          .fence = claimed.job.fence,
          .name = "pay",
          .digest = "d",
          .call = call,
          .actor = "process of " + call,
          .in_doubt = in_doubt,
          .dead_call = {}};
}

BeginEffectRequest EffectConformance::calling(const ClaimedJob& claimed, const std::string& call,
                                              const std::string& name) {
  BeginEffectRequest request = calling(claimed, call);
  request.name = name;
  return request;
}

std::string EffectConformance::begun(const BeginEffectRequest& request) {
  const BeginEffectReply reply = must(store().begin_effect(request));
  return std::string(to_string(reply.verdict)) +
         (reply.refusal ? " " + std::string(to_string(reply.refusal->reason)) : "");
}

std::string EffectConformance::finished(const BeginEffectRequest& begun, EffectEnd end, const std::string& result) {
  const FinishEffectReply reply = must(store().finish_effect({.ns = begun.ns,
                                                              .job = begun.job,
                                                              .fence = begun.fence,
                                                              .name = begun.name,
                                                              .call = begun.call,
                                                              .end = end,
                                                              .result = result,
                                                              .exit_status = {}}));
  return std::string(to_string(reply.refusal ? reply.refusal->reason : Reason::none));
}

std::string EffectConformance::resolved(const JobId& id, bool done, const std::string& result,
                                        const std::string& name) {
  const Result<void> reply = store().resolve_effect(
      {.ns = "default", .job = id, .name = name, .call = {}, .done = done, .result = result, .act = kAct});
  return reply ? "" : std::string(to_string(reply.error().code));
}

Effect EffectConformance::effect(const JobId& id, const std::string& name) {
  for (const Effect& effect :
       must(store().effects({.ns = "default", .job = id, .limit = 1000, .with_result = true})).effects) {
    if (effect.name == name) return effect;
  }
  throw std::runtime_error("effect " + name + " is not there");
}

ClaimedJob EffectConformance::left_in_doubt(const JobId& id) {
  const ClaimedJob lost = claimed_as_next(id, "dies");
  if (begun(calling(lost, "lost")) != "act") throw std::runtime_error("the effect was begun before");
  let_time_pass(kTtl);
  return claimed_as_next(id);
}

ClaimedJob EffectConformance::held(const JobId& id) {
  const ClaimedJob next = left_in_doubt(id);
  if (begun(calling(next, "meets")) != "held") throw std::runtime_error("the job does not wait");
  return next;
}

namespace {

using namespace std::chrono_literals;

const std::string kBytes("re\0sult \xff\n", 10);

TEST_P(EffectConformance, E2_WhoBeginsFirstActsAndIsKnownByItsIntent) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  BeginEffectRequest request = calling(job, "c1", InDoubt::probe);
  EXPECT_EQ(begun(request), "act");
  const Effect known = effect(job.job.id);
  EXPECT_EQ(known.job, job.job.id);
  EXPECT_EQ(known.state, EffectState::intent);
  EXPECT_FALSE(known.in_doubt) << "its holder is at it";
  EXPECT_FALSE(known.held);
  EXPECT_EQ(known.policy, InDoubt::probe);
  EXPECT_EQ(known.digest, "d");
  EXPECT_EQ(known.fence, job.job.fence);
  EXPECT_EQ(known.call, "c1");
  EXPECT_EQ(known.actor, "process of c1");
  EXPECT_EQ(known.doubts, 0);
  EXPECT_EQ(known.began_at, wall());
  EXPECT_EQ(known.ended_at, std::nullopt);
  EXPECT_EQ(look(job.job.id).state, JobState::running);
  let_time_pass(kTtl);
  EXPECT_TRUE(effect(job.job.id).in_doubt) << "nothing holds its job any more";
}

TEST_P(EffectConformance, E1_ADoneEffectIsReplayedByteForByteUnderEveryLaterFence) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  EXPECT_EQ(begun(calling(first, "c1")), "act");
  let_time_pass(1s);
  must(store().finish_effect({.ns = "default",
                              .job = id,
                              .fence = first.job.fence,
                              .name = "pay",
                              .call = "c1",
                              .result = kBytes,
                              .exit_status = 3}));
  EXPECT_EQ(effect(id).state, EffectState::done);
  EXPECT_EQ(effect(id).result, kBytes);
  EXPECT_EQ(effect(id).ended_at, wall());
  EXPECT_EQ(effect(id).resolved_by, "");
  EXPECT_EQ(ended(first, {.kind = OutcomeKind::failed}), "");
  for (int i = 0; i < 2; ++i) {
    const ClaimedJob next = claimed_as_next(id);
    const BeginEffectReply reply = must(store().begin_effect(calling(next, "c" + std::to_string(2 + i))));
    EXPECT_EQ(reply.verdict, EffectVerdict::done);
    EXPECT_EQ(reply.result, kBytes);
    EXPECT_EQ(reply.exit_status, 3);
    EXPECT_EQ(effect(id).call, "c1") << "a replay is no call of its own";
    EXPECT_EQ(ended(next, {.kind = OutcomeKind::given_back}), "");
  }
}

TEST_P(EffectConformance, E1_RepeatsAfterALostReplyChangeNothing) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  const BeginEffectRequest request = calling(job, "c1");
  EXPECT_EQ(begun(request), "act");
  EXPECT_EQ(begun(request), "act");
  EXPECT_EQ(finished(request, EffectEnd::done, "paid"), "");
  let_time_pass(1s);
  const Effect before = effect(job.job.id);
  EXPECT_EQ(finished(request, EffectEnd::done, "paid"), "");
  EXPECT_EQ(finished(request, EffectEnd::none), "other_call") << "it is done, and stays so";
  EXPECT_EQ(finished(request, EffectEnd::held), "other_call");
  EXPECT_EQ(begun(request), "done");
  EXPECT_EQ(effect(job.job.id), before);
}

TEST_P(EffectConformance, E2_AnEffectThatDidNotHappenIsBegunAnew) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  const BeginEffectRequest first = calling(job, "c1");
  EXPECT_EQ(begun(first), "act");
  EXPECT_EQ(finished(first, EffectEnd::none), "");
  EXPECT_EQ(finished(first, EffectEnd::none), "");
  EXPECT_EQ(finished(first, EffectEnd::done), "other_call");
  EXPECT_EQ(effect(job.job.id).state, EffectState::none);
  EXPECT_EQ(code_of(store().begin_effect(first)), Code::refused) << "a copy that arrives late begins nothing";
  BeginEffectRequest second = calling(job, "c2");
  second.digest = "another";
  EXPECT_EQ(begun(second), "act");
  EXPECT_EQ(effect(job.job.id).digest, "another");
  EXPECT_EQ(effect(job.job.id).ended_at, std::nullopt);
}

TEST_P(EffectConformance, E1_TheSameNameForAnotherRequestIsAConflict) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  BeginEffectRequest other = calling(job, "c2");
  other.digest = "another";
  EXPECT_EQ(code_of(store().begin_effect(other)), Code::conflict);
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::done), "");
  EXPECT_EQ(code_of(store().begin_effect(other)), Code::conflict);
  EXPECT_EQ(effect(job.job.id).digest, "d");
}

TEST_P(EffectConformance, E1_EffectsOfOneJobAndOfTwoJobsAreApart) {
  const JobId a = added(new_job());
  const JobId b = added(new_job());
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 2));
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(begun(calling(jobs[0], "c1")), "act");
  EXPECT_EQ(finished(calling(jobs[0], "c1"), EffectEnd::done), "");
  EXPECT_EQ(begun(calling(jobs[0], "c2", "mail")), "act");
  EXPECT_EQ(begun(calling(jobs[1], "c3")), "act");
  EXPECT_EQ(effect(a).state, EffectState::done);
  EXPECT_EQ(effect(a, "mail").state, EffectState::intent);
  EXPECT_EQ(effect(b).state, EffectState::intent);
}

TEST_P(EffectConformance, E2_AnotherCallUnderTheFenceWaitsForTheFirst) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  for (const InDoubt policy : {InDoubt::hold, InDoubt::repeat, InDoubt::probe}) {
    const BeginEffectReply reply = must(store().begin_effect(calling(job, "c2", policy)));
    EXPECT_EQ(reply.verdict, EffectVerdict::busy);
    EXPECT_EQ(reply.call, "c1");
    EXPECT_EQ(reply.actor, "process of c1");
  }
  BeginEffectRequest wrong = calling(job, "c2");
  wrong.dead_call = "c0";
  EXPECT_EQ(begun(wrong), "busy") << "another one is dead";
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::done, "paid"), "");
  EXPECT_EQ(begun(calling(job, "c2")), "done");
}

TEST_P(EffectConformance, E2_AnIntentOfAProcessThatIsGoneIsInDoubtUnderItsOwnFence) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  BeginEffectRequest second = calling(job, "c2", InDoubt::repeat);
  second.dead_call = "c1";
  EXPECT_EQ(begun(second), "again");
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::done), "other_call") << "the intent is the second's";
  BeginEffectRequest third = calling(job, "c3", InDoubt::hold);
  third.dead_call = "c2";
  EXPECT_EQ(begun(third), "held");
  EXPECT_EQ(look(job.job.id).state, JobState::waiting);
}

TEST_P(EffectConformance, E2_UnderRepeatTheNextDeliveryActsAgainAndKnowsIt) {
  const JobId id = added(new_job());
  const ClaimedJob job = left_in_doubt(id);
  const BeginEffectRequest request = calling(job, "c2", InDoubt::repeat);
  EXPECT_EQ(begun(request), "again");
  EXPECT_EQ(begun(request), "again") << "a repeat is answered as the first time";
  EXPECT_EQ(effect(id).doubts, 1);
  EXPECT_EQ(effect(id).call, "c2");
  EXPECT_EQ(effect(id).fence, job.job.fence);
  EXPECT_FALSE(effect(id).in_doubt);
  EXPECT_EQ(look(id).state, JobState::running);
  EXPECT_EQ(finished(request, EffectEnd::done), "");
}

TEST_P(EffectConformance, E2_UnderProbeTheNextDeliveryFindsOutFirst) {
  const ClaimedJob job = left_in_doubt(added(new_job()));
  const BeginEffectRequest request = calling(job, "c2", InDoubt::probe);
  EXPECT_EQ(begun(request), "probe");
  EXPECT_EQ(begun(request), "probe");
  EXPECT_EQ(finished(request, EffectEnd::none), "") << "the other side knows nothing of it";
  EXPECT_EQ(begun(calling(job, "c3", InDoubt::probe)), "act") << "there is no doubt any more";
  EXPECT_EQ(effect(job.job.id).doubts, 0);
}

TEST_P(EffectConformance, E2_ACallOfAnEarlierFenceIsNotThisOnes) {
  const ClaimedJob job = left_in_doubt(added(new_job()));
  EXPECT_EQ(begun(calling(job, "lost", InDoubt::repeat)), "again")
      << "the same word under another fence is another call";
}

TEST_P(EffectConformance, J3_BeginningNeedsTheNewestFenceAndALiveLease) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  BeginEffectRequest unknown = calling(first, "c1");
  unknown.job = new_id();
  EXPECT_EQ(begun(unknown), "lost not_found");
  BeginEffectRequest elsewhere = calling(first, "c1");
  elsewhere.ns = "other";
  EXPECT_EQ(begun(elsewhere), "lost not_found");
  BeginEffectRequest ahead = calling(first, "c1");
  ahead.fence += 1;
  const BeginEffectReply reply = must(store().begin_effect(ahead));
  EXPECT_EQ(reply.refusal, (Refusal{id, first.job.fence + 1, first.job.fence, Reason::superseded}));
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(begun(calling(first, "c1")), "act");
  EXPECT_EQ(finished(calling(first, "c1"), EffectEnd::none), "");
  let_time_pass(kMoment);
  EXPECT_EQ(begun(calling(first, "c2")), "lost expired");
  const ClaimedJob second = claimed_as_next(id);
  EXPECT_EQ(begun(calling(first, "c2")), "lost superseded");
  EXPECT_EQ(ended(second, {.kind = OutcomeKind::given_back}), "");
  EXPECT_EQ(begun(calling(second, "c2")), "lost settled");
  const ClaimedJob third = claimed_as_next(id);
  EXPECT_EQ(ended(third), "");
  EXPECT_EQ(begun(calling(third, "c2")), "lost finished");
  EXPECT_EQ(effect(id).state, EffectState::none) << "nothing was begun";
}

TEST_P(EffectConformance, J3_FinishingNeedsOnlyTheNewestFence) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  EXPECT_EQ(begun(calling(job, "c1", "late")), "act");
  EXPECT_EQ(begun(calling(job, "c2", "later")), "act");
  EXPECT_EQ(begun(calling(job, "c3", "latest")), "act");
  let_time_pass(kTtl);
  EXPECT_EQ(finished(calling(job, "c1", "late"), EffectEnd::done), "") << "nobody took over";
  EXPECT_EQ(ended(job), "");
  EXPECT_EQ(finished(calling(job, "c2", "later"), EffectEnd::done), "") << "what was done is not forgotten";
  EXPECT_EQ(finished(calling(job, "c9", "latest"), EffectEnd::done), "other_call");
  EXPECT_EQ(finished(calling(job, "c3", "unknown"), EffectEnd::done), "other_call");
  BeginEffectRequest nobody = calling(job, "c3", "latest");
  nobody.job = new_id();
  EXPECT_EQ(finished(nobody, EffectEnd::done), "not_found");
  EXPECT_EQ(finished(calling(job, "c3", "latest"), EffectEnd::held), "") << "a finished job stays finished";
  EXPECT_EQ(look(id).state, JobState::done);
  EXPECT_FALSE(effect(id, "latest").held);
}

TEST_P(EffectConformance, J3_AnOlderFenceFinishesNothing) {
  const JobId id = added(new_job());
  const ClaimedJob lost = claimed_as_next(id);
  EXPECT_EQ(begun(calling(lost, "c1")), "act");
  let_time_pass(kTtl);
  claimed_as_next(id);
  EXPECT_EQ(finished(calling(lost, "c1"), EffectEnd::done), "superseded");
  EXPECT_EQ(effect(id).state, EffectState::intent);
  EXPECT_TRUE(effect(id).in_doubt) << "the newer holder has not begun it";
}

TEST_P(EffectConformance, E1_AResultMayBeAnyBytesUpToAMebibyte) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  const BeginEffectRequest request = calling(job, "c1");
  EXPECT_EQ(begun(request), "act");
  std::string result(kEffectResultBytesMax, '\0');
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<char>(i * 7);
  EXPECT_EQ(code_of(store().finish_effect({.ns = "default",
                                           .job = request.job,
                                           .fence = request.fence,
                                           .name = "pay",
                                           .call = "c1",
                                           .result = result + "x",
                                           .exit_status = {}})),
            Code::invalid);
  EXPECT_EQ(finished(request, EffectEnd::done, result), "");
  EXPECT_EQ(must(store().begin_effect(calling(job, "c2"))).result, result);
  EXPECT_EQ(effect(job.job.id).result, result);
  EXPECT_EQ(must(store().effects({.ns = "default", .job = {}})).effects.at(0).result, "") << "unless asked for";
}

TEST_P(EffectConformance, E2_WhatIsOutOfItsLimitsIsInvalidAndChangesNothing) {
  const ClaimedJob job = claimed_as_next(added(new_job()));
  const auto spoiled = [&](auto spoil) {
    BeginEffectRequest request = calling(job, "c1");
    spoil(request);
    return code_of(store().begin_effect(request));
  };
  EXPECT_EQ(spoiled([](auto& request) { request.ns = "a b"; }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.name = ""; }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.name = "../x"; }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.name = std::string(129, 'x'); }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.digest = ""; }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.digest = std::string(kEffectDigestBytesMax + 1, 'x'); }),
            Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.actor = std::string(kEffectActorBytesMax + 1, 'x'); }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.actor = "\xff"; }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.call = ""; }), Code::invalid);
  EXPECT_EQ(spoiled([](auto& request) { request.dead_call = "c1"; }), Code::invalid);
  EXPECT_EQ(code_of(store().effects({.ns = "default", .job = {}, .limit = 0})), Code::invalid);
  EXPECT_EQ(code_of(store().effects({.ns = "default", .job = {}, .limit = 1001})), Code::invalid);
  EXPECT_EQ(code_of(store().effects({.ns = "default", .job = {}, .after = -1})), Code::invalid);
  EXPECT_EQ(code_of(store().finish_effect({.ns = "default",
                                           .job = job.job.id,
                                           .fence = job.job.fence,
                                           .name = "pay",
                                           .call = "c1",
                                           .exit_status = 256})),
            Code::invalid);
  EXPECT_EQ(resolved(job.job.id, false, "a result"), "invalid") << "what did not happen has none";
  EXPECT_TRUE(must(store().effects({.ns = "default", .job = {}})).effects.empty());
  EXPECT_EQ(spoiled([](auto& request) {
              request.name = std::string(128, 'x');
              request.digest = std::string(kEffectDigestBytesMax, '\xff');
            }),
            std::nullopt);
}

TEST_P(EffectConformance, E2_TheListGoesInPagesInTheOrderOfTheFirstBegin) {
  const ClaimedJob a = claimed_as_next(added(new_job()));
  const ClaimedJob b = claimed_as_next(added(new_job()));
  EXPECT_EQ(begun(calling(b, "c1", "z")), "act");
  EXPECT_EQ(begun(calling(a, "c2", "y")), "act");
  EXPECT_EQ(begun(calling(b, "c3", "x")), "act");
  EXPECT_EQ(finished(calling(b, "c1", "z"), EffectEnd::none), "");
  EXPECT_EQ(begun(calling(b, "c4", "z")), "act") << "its place is that of the first time";
  std::vector<std::string> names;
  for (std::optional<std::int64_t> after = 0; after;) {
    const EffectsReply page = must(store().effects({.ns = "default", .job = {}, .after = *after, .limit = 2}));
    EXPECT_LE(page.effects.size(), 2u);
    for (const Effect& one : page.effects) names.push_back(one.name);
    after = page.next;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"z", "y", "x"}));
  EXPECT_EQ(must(store().effects({.ns = "default", .job = b.job.id})).effects.size(), 2u);
  EXPECT_EQ(must(store().effects({.ns = "default", .job = {}, .limit = 3})).next, std::nullopt) << "nothing follows";
  EXPECT_TRUE(must(store().effects({.ns = "default", .job = new_id()})).effects.empty());
  EXPECT_TRUE(must(store().effects({.ns = "other", .job = {}})).effects.empty());
}

TEST_P(EffectConformance, E2_EveryDoubtIsNamedAndNothingElse) {
  const ClaimedJob dies = claimed_as_next(added(new_job()));
  EXPECT_EQ(begun(calling(dies, "c1", "one")), "act");
  EXPECT_EQ(begun(calling(dies, "c2", "done")), "act");
  EXPECT_EQ(finished(calling(dies, "c2", "done"), EffectEnd::done), "");
  EXPECT_EQ(begun(calling(dies, "c3", "two")), "act");
  const auto doubts = [&](int limit) {
    return must(store().effects({.ns = "default", .job = {}, .in_doubt = true, .limit = limit}));
  };
  EXPECT_TRUE(doubts(10).effects.empty()) << "its holder is at them";
  let_time_pass(kTtl);
  const ClaimedJob alive = claimed_as_next(dies.job.id);
  EXPECT_EQ(begun(calling(alive, "c4", "mine")), "act");
  const EffectsReply first = doubts(1);
  ASSERT_EQ(first.effects.size(), 1u);
  EXPECT_EQ(first.effects[0].name, "one");
  EXPECT_TRUE(first.effects[0].in_doubt);
  ASSERT_TRUE(first.next);
  const EffectsReply second =
      must(store().effects({.ns = "default", .job = dies.job.id, .in_doubt = true, .after = *first.next}));
  ASSERT_EQ(second.effects.size(), 1u);
  EXPECT_EQ(second.effects[0].name, "two");
  EXPECT_EQ(second.next, std::nullopt);
}

TEST_P(EffectConformance, E1_TheLedgerOutlivesTheProcess) {
  const JobId id = added(new_job());
  const ClaimedJob job = claimed_as_next(id);
  EXPECT_EQ(begun(calling(job, "c1")), "act");
  EXPECT_EQ(finished(calling(job, "c1"), EffectEnd::done, kBytes), "");
  EXPECT_EQ(begun(calling(job, "c2", "mail")), "act");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(effect(id).result, kBytes);
  EXPECT_EQ(effect(id, "mail").state, EffectState::intent);
  EXPECT_EQ(begun(calling(job, "c2", "mail")), "act") << "the lease is alive: a repeat";
  let_time_pass(kTtl);
  const ClaimedJob next = claimed_as_next(id);
  EXPECT_EQ(begun(calling(next, "c3", "mail")), "held");
  EXPECT_TRUE(reopen());
  EXPECT_EQ(look(id).state, JobState::waiting);
  EXPECT_EQ(facts(id).effects_in_doubt, std::vector<std::string>{"mail"});
}

}  // namespace
}  // namespace fenceline::test
