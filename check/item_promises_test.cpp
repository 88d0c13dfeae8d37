// Each promise of pipelines: a history that breaks it, and one that is close and lawful.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

using history::JobPart;

// Item i at the stage `write`, not yet claimed.
HistoryText enqueued(char guarantee = 'B', bool whole = true) {
  HistoryText history(guarantee, whole);
  history.pipeline(1).enqueue(10, 11, {.id = "i"});
  return history;
}

// A delivery of it by worker a, under this fence; the handler said done.
void work(HistoryText& history, std::int64_t at, const std::string& stage, std::int64_t fence, std::int64_t deliveries,
          const std::string& said = "done") {
  history.claim(at, at + 1, "a", {.id = "i", .stage = stage, .fence = fence, .deliveries = deliveries});
  history.handler(at + 2, Kind::started, "a", "i", fence).handler(at + 3, Kind::ended, "a", "i", fence, said);
}

JobPart advance(const std::string& to, std::int64_t fence, std::int64_t revision, const std::string& state = "ready") {
  return {.id = "i",
          .stage = to,
          .fence = fence,
          .state = state,
          .fresh = true,
          .act = "item_advanced",
          .revision = revision};
}
JobPart approval(std::int64_t revision, const std::string& into = "") {
  return {.id = "i",
          .stage = into,
          .state = into.empty() ? "" : "ready",
          .only = into.empty() ? "" : "waiting",
          .fresh = !into.empty(),
          .act = "item_approved",
          .revision = revision};
}
Event refusal(const std::string& reason, std::int64_t fence, std::int64_t current, std::int64_t revision) {
  return {.refused = {{.id = "i", .fence = fence, .reason = reason, .current = current, .revision = revision}}};
}

// Waiting to be let into publish, record 2.
HistoryText at_gate(char guarantee = 'B', bool whole = true) {
  HistoryText history = enqueued(guarantee, whole);
  work(history, 20, "", 5, 1);
  history.move(24, "a", advance("review", 5, 0));
  work(history, 30, "review", 6, 2);
  history.move(34, "a", advance("gate:publish", 6, 1, "waiting"));
  return history;
}

// Waiting to be let into ship, whose check runs under fence 8, record 5.
HistoryText checking(const std::string& said = "done") {
  HistoryText history = at_gate();
  history.move(40, "ana", approval(2)).move(42, "bo", approval(3, "publish"));
  work(history, 50, "publish", 7, 3);
  history.move(54, "a", advance("gate:ship", 7, 4));
  work(history, 60, "gate:ship", 8, 4, said);
  return history;
}

TEST(ItemPromises, AGoodDayBreaksNothing) {
  HistoryText history = checking();
  history.move(64, "a", advance("ship", 8, 5));
  work(history, 70, "ship", 9, 5);
  history.settle(74, 75, "a", "i", 9).mark(80, Kind::rest);
  const Verdict verdict = history.verdict();
  EXPECT_TRUE(verdict.holds()) << verdict.violations.front().sentence;
  EXPECT_EQ(verdict.items, 1);
  EXPECT_EQ(verdict.moves, 5);
}

TEST(ItemPromises, P1_WhoGoesPastAGateIsFound) {
  HistoryText history = enqueued();
  work(history, 20, "", 5, 1);
  history.move(24, "a", advance("review", 5, 0));
  work(history, 30, "review", 6, 2);
  history.move(34, "a", advance("publish", 6, 1));
  const Verdict verdict = history.verdict();
  ASSERT_FALSE(verdict.holds());
  EXPECT_EQ(verdict.violations.front().promise, "P1");
  EXPECT_EQ(verdict.violations.front().sentence,
            "item i went from 'review' to 'publish', past the entry condition of publish");
  ASSERT_EQ(verdict.violations.front().excerpt.size(), 2U);
  EXPECT_EQ(verdict.violations.front().excerpt.front().words,
            "0.034000s  a: change_items of job i under fence 6: done, record 1, item_advanced, to 'publish', ready "
            "(request m34)");
  HistoryText moved = enqueued();
  EXPECT_EQ(HistoryText(moved)
                .move(20, "ana", {.id = "i", .stage = "publish", .state = "ready", .act = "item_moved"})
                .broken(),
            "P1")
      << "a person's move too";
  EXPECT_EQ(HistoryText(moved)
                .move(20, "ana", {.id = "i", .stage = "gate:publish", .state = "waiting", .act = "item_moved"})
                .broken(),
            "");
}

TEST(ItemPromises, P1_AnApprovalGateOpensWhenEnoughWhoMayHaveApproved) {
  EXPECT_EQ(at_gate().move(40, "ana", approval(2, "publish")).broken(), "P1") << "one of two";
  EXPECT_EQ(at_gate().move(40, "ana", approval(2)).move(42, "ana", approval(3, "publish")).broken(), "P1")
      << "the same one";
  EXPECT_EQ(at_gate().move(40, "eve", approval(2)).move(42, "ana", approval(3, "publish")).broken(), "P1")
      << "who may not";
  EXPECT_EQ(at_gate().move(40, "ana", approval(2)).move(42, "bo", approval(3, "publish")).broken(), "");
  EXPECT_EQ(at_gate('B', false).move(40, "ana", approval(2, "publish")).broken(), "P1")
      << "whoever else is at work: the records join";
  EXPECT_EQ(at_gate('B', false).move(42, "ana", approval(3, "publish")).broken(), "")
      << "somebody else may have approved";
}

TEST(ItemPromises, P1_AnApprovalWithoutAnAnswerMayCount) {
  HistoryText history = at_gate();
  history.move(40, "ana", approval(2), {.kind = Kind::unknown});
  history.move(42, "cy", {.id = "i", .stage = "gate:publish", .state = "waiting", .act = "item_held", .revision = 3});
  EXPECT_EQ(history.move(44, "bo", approval(4, "publish")).broken(), "");
}

TEST(ItemPromises, P1_AnApprovalCountsForOneTimeAtTheGate) {
  const auto again = [](bool twice) {
    HistoryText history = at_gate();
    history.move(40, "ana", approval(2))
        .move(42, "bo",
              {.id = "i",
               .stage = "review",
               .state = "ready",
               .only = "waiting",
               .fresh = true,
               .act = "item_rejected",
               .revision = 3});
    work(history, 50, "review", 7, 3);
    history.move(54, "a", advance("gate:publish", 7, 4, "waiting"));
    if (twice) history.move(56, "ana", approval(5));
    history.move(58, "bo", approval(twice ? 6 : 5, "publish"));
    return history.broken();
  };
  EXPECT_EQ(again(false), "P1");
  EXPECT_EQ(again(true), "");
}

TEST(ItemPromises, P1_WhenTheTimeForApprovalsIsOverTheFileSaysWhatThen) {
  const auto late = [](const std::string& then) {
    HistoryText history;
    history.pipeline(1, {.stages = {{.id = "write"}, {.id = "publish", .count = 1, .gate = "approval", .then = then}}})
        .enqueue(10, 11, {.id = "i"});
    work(history, 20, "", 5, 1);
    history.move(24, "a", advance("gate:publish", 5, 0));
    history.claim(30, 31, "k", {.id = "i", .stage = "gate:publish", .fence = 6, .deliveries = 2});
    return history.move(34, "k", advance("publish", 6, 1)).broken();
  };
  EXPECT_EQ(late("approve"), "");
  EXPECT_EQ(late("reject"), "P1");
}

TEST(ItemPromises, P1_ACheckOpensItsGateOnlyIfItSaidSo) {
  EXPECT_EQ(checking().move(64, "a", advance("ship", 8, 5)).broken(), "");
  for (const char* const said : {"failed", "later", "dead"})
    EXPECT_EQ(checking(said).move(64, "a", advance("ship", 8, 5)).broken(), "P1") << said;
  EXPECT_EQ(checking("dead")
                .move(64, "a",
                      {.id = "i",
                       .stage = "publish",
                       .fence = 8,
                       .state = "ready",
                       .fresh = true,
                       .act = "item_returned",
                       .revision = 5})
                .broken(),
            "P1")
      << "publish has a gate";
  EXPECT_EQ(checking("dead")
                .move(64, "a",
                      {.id = "i",
                       .stage = "gate:publish",
                       .fence = 8,
                       .state = "waiting",
                       .fresh = true,
                       .act = "item_returned",
                       .revision = 5})
                .broken(),
            "");
}

TEST(ItemPromises, P1_WhatIsNotDoneDoesNotGoOn) {
  const auto said = [](const std::string& outcome) {
    HistoryText history = enqueued();
    work(history, 20, "", 5, 1, outcome);
    return history.move(24, "a", advance("review", 5, 0)).broken();
  };
  EXPECT_EQ(said("done"), "");
  EXPECT_EQ(said("failed"), "P1");
  HistoryText unworked = enqueued();
  unworked.claim(20, 21, "a", {.id = "i", .fence = 5}).move(24, "a", advance("review", 5, 0));
  EXPECT_EQ(unworked.broken(), "") << "nobody wrote down what handlers do";
  EXPECT_EQ(unworked.handler(30, Kind::started, "a", "other", 1).broken(), "P1") << "nobody worked on it";
  HistoryText skips = enqueued();
  work(skips, 20, "", 5, 1);
  EXPECT_EQ(HistoryText(skips).move(24, "a", advance("gate:publish", 5, 0, "waiting")).broken(), "P1")
      << "over a stage";
  EXPECT_EQ(HistoryText(skips).move(24, "a", advance("nowhere", 5, 0)).broken(), "P1");
  EXPECT_EQ(HistoryText(skips)
                .move(24, "ana", {.id = "i", .stage = "gate:publish", .state = "waiting", .act = "item_moved"})
                .broken(),
            "")
      << "a person may";
}

TEST(ItemPromises, P1_AnItemThatEndsBeforeItsLastStageIsFound) {
  EXPECT_EQ(enqueued().claim(5020, 5021, "a", {.id = "i", .fence = 5}).settle(5024, 5025, "a", "i", 5).broken(), "P1");
  EXPECT_EQ(
      enqueued('B', false).claim(5020, 5021, "a", {.id = "i", .fence = 5}).settle(5024, 5025, "a", "i", 5).broken(),
      "P1");
  EXPECT_EQ(enqueued().claim(5020, 5021, "a", {.id = "i", .fence = 5}).settle(5024, 5025, "a", "i", 5, "dead").broken(),
            "");
  EXPECT_EQ(enqueued().claim(1020, 1021, "a", {.id = "i", .fence = 5}).settle(1024, 1025, "a", "i", 5).broken(), "")
      << "the first apply may not be known to all yet";
  HistoryText before;
  before.enqueue(10, 11, {.id = "i"})
      .claim(20, 21, "a", {.id = "i", .fence = 5})
      .pipeline(22)
      .settle(24, 25, "a", "i", 5);
  EXPECT_EQ(before.broken(), "") << "there was no pipeline when it was claimed";
}

TEST(ItemPromises, P1_WorkAtAStageToWhichNothingLedIsFoundIfAllMovesAreThere) {
  const auto put_there = [](bool whole) {
    HistoryText history('B', whole);
    history.pipeline(1).enqueue(10, 11, {.id = "i", .stage = "review"});
    work(history, 20, "review", 5, 1);
    return history.broken();
  };
  EXPECT_EQ(put_there(true), "P1");
  EXPECT_EQ(put_there(false), "") << "somebody may have moved it";
  HistoryText held;
  held.pipeline(1)
      .enqueue(10, 11, {.id = "i", .stage = "review"})
      .claim(20, 21, "a", {.id = "i", .stage = "review", .fence = 5});
  held.move(24, "a", {.id = "i", .stage = "review", .fence = 5, .state = "waiting", .act = "item_held"});
  EXPECT_EQ(held.broken(), "");
}

TEST(ItemPromises, P1_WhatWaitsForAPersonIsNotGranted) {
  EXPECT_EQ(at_gate().claim(40, 41, "b", {.id = "i", .stage = "gate:publish", .fence = 7, .deliveries = 3}).broken(),
            "P1");
  EXPECT_EQ(at_gate('B', false)
                .claim(40, 41, "b", {.id = "i", .stage = "gate:publish", .fence = 7, .deliveries = 3})
                .broken(),
            "")
      << "somebody may have moved it";
}

TEST(ItemPromises, P1_AStageIsServedToWhoAsksForIt) {
  HistoryText history = at_gate();
  history.call(40, 41,
               {.verb = Verb::claim,
                .owner = "b",
                .request = "r",
                .queues = {"q"},
                .stage = "publish",
                .limit = 1,
                .ttl = 10'000'000},
               {.jobs = {{.id = "i",
                          .queue = "q",
                          .stage = "gate:publish",
                          .attempts = 10,
                          .fence = 7,
                          .left = 10'000'000,
                          .deliveries = 3}}});
  EXPECT_EQ(history.broken({.whole = false}), "P1");
}

TEST(ItemPromises, P1_WhatIsLawfulByOneReadingOfAnEditedPipelineIsLawful) {
  const std::vector<JobPart> open{{.id = "write"}, {.id = "review"}, {.id = "publish"}, {.id = "ship"}};
  EXPECT_EQ(at_gate()
                .pipeline(38, {.stages = open})
                .move(40, "ana", {.id = "i", .stage = "publish", .state = "ready", .act = "item_moved", .revision = 2})
                .broken(),
            "");
}

TEST(ItemPromises, P2_TwoChangesThatRestOnOneRecordAreFound) {
  EXPECT_EQ(at_gate().move(40, "ana", approval(2)).move(42, "bo", approval(2)).broken(), "P2");
  EXPECT_EQ(at_gate('B', false).move(40, "ana", approval(2)).move(42, "bo", approval(2)).broken(), "P2");
  EXPECT_EQ(at_gate().move(40, "ana", approval(2)).move(42, "bo", approval(2), refusal("changed", 0, 6, 3)).broken(),
            "");
  EXPECT_EQ(at_gate().move(40, "ana", approval(2)).move(42, "ana", approval(2), {}, "m40").broken(), "")
      << "the same request again";
  EXPECT_EQ(at_gate().move(40, "ana", approval(2), {.kind = Kind::unknown}).move(42, "bo", approval(2)).broken(), "")
      << "it may not have happened";
  EXPECT_EQ(
      at_gate().move(40, "ana", approval(2), {.kind = Kind::unknown}).move(42, "bo", approval(3, "publish")).broken(),
      "")
      << "or it may";
}

TEST(ItemPromises, P2_IsJudgedOverAllClocks) {
  const auto of = [](Checker& checker, const std::string& by, std::int64_t fence) {
    checker.add({.kind = Kind::recorder, .by = by, .version = history::kFormatVersion, .guarantee = "B", .clock = by},
                {0, 1});
    checker.add({.by = by,
                 .n = 1,
                 .verb = Verb::change_items,
                 .ns = "n",
                 .owner = by,
                 .request = by,
                 .jobs = {advance("review", fence, 0)}},
                {0, 2});
    checker.add({.kind = Kind::ok, .by = by, .n = 1}, {0, 3});
  };
  Checker one;
  of(one, "w", 5);
  of(one, "v", 6);
  const Verdict verdict = one.finish();
  ASSERT_FALSE(verdict.holds());
  EXPECT_EQ(verdict.violations.front().promise, "P2");
  EXPECT_EQ(verdict.clocks, 2);
}

TEST(ItemPromises, P2_ALostChangeIsFound) {
  EXPECT_EQ(at_gate().move(40, "ana", approval(3)).broken(), "P2") << "to record 3 nothing had led";
  EXPECT_EQ(at_gate('B', false).move(40, "ana", approval(3)).broken(), "");
  EXPECT_EQ(at_gate().move(40, "ana", approval(1), refusal("changed", 0, 6, 1)).broken(), "P2") << "it was at record 2";
  EXPECT_EQ(at_gate().move(40, "ana", approval(1), refusal("changed", 0, 6, 2)).broken(), "");
  EXPECT_EQ(at_gate().move(40, "ana", approval(2), refusal("changed", 0, 6, 2)).broken(), "P2")
      << "nothing had changed";
  HistoryText back = enqueued();
  work(back, 20, "", 5, 1);
  back.move(24, "a", advance("review", 5, 0));
  EXPECT_EQ(HistoryText(back).claim(30, 31, "b", {.id = "i", .fence = 6, .deliveries = 2}).broken(), "P2")
      << "it is where it was before";
  EXPECT_EQ(HistoryText(back).claim(30, 31, "b", {.id = "i", .stage = "review", .fence = 6, .deliveries = 2}).broken(),
            "");
  const auto look = [&](const std::string& stage) {
    return HistoryText(back)
        .call(30, 31, {.verb = Verb::look, .jobs = {{.id = "i"}}},
              {.jobs = {{.id = "i", .queue = "q", .stage = stage, .fence = 5}}, .state = "ready"})
        .broken();
  };
  EXPECT_EQ(look(""), "P2");
  EXPECT_EQ(look("review"), "");
}

TEST(ItemPromises, P2_AMoveUnderAnOlderFenceIsFound) {
  const auto taken_over = [] {
    HistoryText history = enqueued();
    history.claim(20, 21, "a", {.id = "i", .fence = 5})
        .claim(20'000, 20'001, "b",
               {.id = "i", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true, .from = "a"});
    return history;
  };
  EXPECT_EQ(taken_over().move(20'010, "a", advance("review", 5, 0)).broken(), "P2");
  EXPECT_EQ(taken_over().move(20'010, "a", advance("review", 5, 0), refusal("superseded", 5, 6, 0)).broken(), "");
  EXPECT_EQ(taken_over().move(20'010, "a", advance("review", 6, 0)).broken(), "P2") << "it is not the holder";
  EXPECT_EQ(taken_over().move(20'010, "b", advance("review", 6, 0)).broken(), "");
  EXPECT_EQ(taken_over().move(20'010, "b", advance("review", 6, 0), refusal("superseded", 6, 6, 0)).broken(), "P2")
      << "nobody had it since";
}

TEST(ItemPromises, P2_ADeliveryEndsOnce) {
  HistoryText history = enqueued();
  work(history, 20, "", 5, 1);
  history.move(24, "a", advance("review", 5, 0));
  EXPECT_EQ(HistoryText(history).move(26, "a", advance("review", 5, 1)).broken(), "P2");
  EXPECT_EQ(HistoryText(history).move(26, "a", advance("review", 5, 0), {}, "m24").broken(), "")
      << "the same request again";
  EXPECT_EQ(HistoryText(history).settle(26, 27, "a", "i", 5, "failed").broken(), "J3") << "another outcome";
  EXPECT_EQ(HistoryText(history).settle(26, 27, "a", "i", 5, "done").broken(), "")
      << "the same outcome again changes nothing";
  EXPECT_EQ(HistoryText(history).refused(26, 27, Verb::extend, "a", "i", 5, "settled", 5).broken(), "");
  EXPECT_EQ(HistoryText(history).extend(26, 27, "a", "i", 5).broken(), "L4") << "its lease is released with the move";
  EXPECT_EQ(enqueued()
                .claim(20, 21, "a", {.id = "i", .fence = 5})
                .settle(22, 23, "a", "i", 5, "later")
                .move(24, "a", advance("review", 5, 0))
                .broken(),
            "P2");
}

TEST(ItemPromises, P2_APersonsMoveRevokesTheDelivery) {
  HistoryText history = enqueued();
  history.claim(20, 21, "a", {.id = "i", .fence = 5})
      .move(22, "ana", {.id = "i", .stage = "review", .state = "ready", .fresh = true, .act = "item_moved"});
  EXPECT_EQ(HistoryText(history).settle(24, 25, "a", "i", 5).broken(), "J3");
  EXPECT_EQ(HistoryText(history).move(24, "a", advance("review", 5, 1)).broken(), "P2");
  EXPECT_EQ(HistoryText(history).move(24, "a", advance("review", 5, 0), refusal("superseded", 5, 6, 1)).broken(), "");
  EXPECT_EQ(
      HistoryText(history).claim(24, 25, "b", {.id = "i", .stage = "review", .fence = 7, .deliveries = 2}).broken(),
      "J7")
      << "its slot is taken until its worker has stopped";
  EXPECT_EQ(HistoryText(history)
                .claim(20'000, 20'001, "b", {.id = "i", .stage = "review", .fence = 7, .deliveries = 2})
                .broken(),
            "");
}

TEST(ItemPromises, P2_APersonsMoveMayRevokeADeliveryThatNobodySaw) {
  const auto revoked = [](Kind claim) {
    HistoryText history = enqueued();
    history.claim(20, 21, "a", {.id = "i", .fence = 5}).settle(22, 23, "a", "i", 5, "later");
    history.call(24, 25,
                 {.verb = Verb::claim, .owner = "b", .request = "r", .queues = {"q"}, .limit = 1, .ttl = 10'000'000},
                 {.kind = claim});
    history.move(30, "ana", {.id = "i", .stage = "review", .state = "ready", .fresh = true, .act = "item_moved"});
    return history.refused(40, 41, Verb::settle, "a", "i", 5, "superseded", 7).broken();
  };
  EXPECT_EQ(revoked(Kind::unknown), "");
  EXPECT_EQ(revoked(Kind::ok), "L1");
}

TEST(ItemPromises, P2_ARepeatThatIsRefusedThoughItHadHappenedIsFound) {
  EXPECT_EQ(at_gate()
                .move(40, "ana", approval(2), {.kind = Kind::unknown}, "r")
                .move(42, "ana", approval(2), refusal("changed", 0, 6, 3), "r")
                .broken(),
            "P2");
  EXPECT_EQ(at_gate()
                .move(40, "ana", approval(2), {.kind = Kind::unknown}, "r")
                .move(41, "bo", approval(2), {.kind = Kind::unknown})
                .move(42, "ana", approval(2), refusal("changed", 0, 6, 3), "r")
                .broken(),
            "");
}

TEST(ItemPromises, FailuresCountByTheStage) {
  HistoryText history = enqueued();
  history.claim(20, 21, "a", {.id = "i", .fence = 5})
      .settle(22, 23, "a", "i", 5, "failed")
      .claim(24, 25, "a", {.id = "i", .fence = 6, .deliveries = 2, .failures = 1});
  history.move(26, "a", {.id = "i", .fence = 6, .outcome = "failed", .state = "ready", .act = "item_retried"});
  EXPECT_EQ(HistoryText(history).claim(28, 29, "a", {.id = "i", .fence = 7, .deliveries = 3, .failures = 2}).broken(),
            "");
  EXPECT_EQ(HistoryText(history).claim(28, 29, "a", {.id = "i", .fence = 7, .deliveries = 3, .failures = 1}).broken(),
            "J5");
  history.claim(28, 29, "a", {.id = "i", .fence = 7, .deliveries = 3, .failures = 2})
      .move(30, "a", advance("review", 7, 1));
  EXPECT_EQ(
      HistoryText(history).claim(32, 33, "a", {.id = "i", .stage = "review", .fence = 8, .deliveries = 4}).broken(),
      "");
  EXPECT_EQ(HistoryText(history)
                .claim(32, 33, "a", {.id = "i", .stage = "review", .fence = 8, .deliveries = 4, .failures = 2})
                .broken(),
            "J5");
}

TEST(ItemPromises, OnlyAStoreThatForgetsMayForgetAMoveInACrash) {
  for (const char guarantee : {'A', 'B'})
    EXPECT_EQ(at_gate(guarantee).mark(39, Kind::crash).move(40, "ana", approval(1)).broken(), "P2");
  for (const char guarantee : {'C', 'D'})
    EXPECT_EQ(at_gate(guarantee).mark(39, Kind::crash).move(40, "ana", approval(1)).broken(), "") << guarantee;
}

TEST(ItemPromises, P1_AnEffectThatIsResolvedFreesNothingThatWaitsForAPerson) {
  HistoryText history = at_gate();
  history.call(40, 41,
               {.verb = Verb::resolve_effect,
                .owner = "op",
                .request = "c",
                .name = "pay",
                .end = "none",
                .jobs = {{.id = "i"}}});
  EXPECT_EQ(history.claim(42, 43, "b", {.id = "i", .stage = "gate:publish", .fence = 7, .deliveries = 3}).broken(),
            "P1");
}

}  // namespace
}  // namespace fenceline::audit
