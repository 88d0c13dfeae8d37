// Each promise of jobs: a history that breaks it, and one that is close and lawful.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

HistoryText granted_to_a() {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"}).claim(10, 12, "a", {.id = "j", .fence = 5});
  return history;
}

history::JobPart second(std::int64_t fence) { return {.id = "j", .fence = fence, .deliveries = 2}; }

TEST(JobPromises, J1_AnAcknowledgedJobThatIsNeverSeenAgainIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  EXPECT_EQ(HistoryText(history).mark(100, Kind::rest).broken(), "J1");
  EXPECT_EQ(HistoryText(history).broken({.rests = true}), "J1");
  EXPECT_EQ(HistoryText(history).broken(), "");
  EXPECT_EQ(granted_to_a().settle(20, 21, "a", "j", 5).mark(100, Kind::rest).broken(), "");
}

TEST(JobPromises, J1_AnEnqueueWithoutAnAnswerMayBeLost) {
  HistoryText history;
  history.call(0, 9, {.verb = Verb::enqueue, .jobs = {{.id = "j", .queue = "q", .digest = "d"}}},
               {.kind = Kind::unknown});
  EXPECT_EQ(history.mark(100, Kind::rest).broken(), "");
}

TEST(JobPromises, J1_ARepeatThatIsToldItWasTheFirstIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  EXPECT_EQ(HistoryText(history).enqueue(5, 6, {.id = "j"}, 0).broken(), "J1");
  EXPECT_EQ(HistoryText(history).enqueue(5, 6, {.id = "j"}, 1).broken(), "");
}

TEST(JobPromises, J1_AJobThatIsGoneIsFoundUnlessItWasTidied) {
  EXPECT_EQ(granted_to_a().refused(20, 21, Verb::settle, "a", "j", 5, "not_found", 0).broken(), "J1");
  HistoryText history = granted_to_a();
  history.settle(20, 21, "a", "j", 5).call(30, 31, {.verb = Verb::tidy}, {.count = 1});
  EXPECT_EQ(history.call(40, 41, {.verb = Verb::look, .jobs = {{.id = "j"}}}).broken(), "");
}

TEST(JobPromises, J1_ABatchWithTwoFirstMomentsIsFound) {
  HistoryText history;
  history.call(0, 1, {.verb = Verb::open_batch, .name = "f"}, {.first_seen = 100});
  EXPECT_EQ(HistoryText(history).call(5, 6, {.verb = Verb::open_batch, .name = "f"}, {.first_seen = 101}).broken(),
            "J1");
  EXPECT_EQ(HistoryText(history).call(5, 6, {.verb = Verb::open_batch, .name = "f"}, {.first_seen = 100}).broken(), "");
}

TEST(JobPromises, J2_MoreThanWasAskedForIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"}).enqueue(2, 3, {.id = "k"});
  const std::vector<history::JobPart> two{{.id = "j", .queue = "q", .fence = 5, .deliveries = 1},
                                          {.id = "k", .queue = "q", .fence = 6, .deliveries = 1}};
  const Event claim{.verb = Verb::claim, .owner = "a", .request = "r", .queues = {"q"}, .limit = 1};
  EXPECT_EQ(HistoryText(history).call(10, 11, claim, {.jobs = two}).broken(), "J2");
  EXPECT_EQ(HistoryText(history).claim_many(10, 11, "a", two).broken(), "");
}

TEST(JobPromises, J2_AGrantOfWhatNobodyEnqueuedIsFoundInAWholeHistory) {
  HistoryText whole;
  EXPECT_EQ(whole.claim(0, 1, "a", {.id = "j", .fence = 5}).broken(), "J2");
  HistoryText part('B', false);
  EXPECT_EQ(part.claim(0, 1, "a", {.id = "j", .fence = 5}).broken(), "");
  EXPECT_EQ(part.broken({.whole = true}), "J2");
}

TEST(JobPromises, J2_ACopyOfARefusedEnqueueMayComeWhenItsKeyIsFree) {
  const auto history = [](std::int64_t repeats) {
    HistoryText text;
    text.add({.kind = Kind::recorder,
              .version = history::kFormatVersion,
              .store = "test",
              .guarantee = "B",
              .clock = "c",
              .store_clock = "c",
              .whole = true,
              .repeats = repeats});
    text.enqueue(0, 1, {.id = "i", .key = "k"});
    text.call(
        2, 3,
        {.verb = Verb::enqueue, .jobs = {{.id = "j", .queue = "q", .key = "k", .digest = "other", .attempts = 10}}},
        {.kind = Kind::fail, .code = "conflict"});
    return text.claim(4, 5, "a", {.id = "i", .fence = 5})
        .settle(6, 7, "a", "i", 5)
        .claim(8, 9, "a", {.id = "j", .fence = 6});
  };
  EXPECT_EQ(history(0).broken(), "J2");
  EXPECT_EQ(history(60'000'000).broken(), "");
}

TEST(JobPromises, J2_ARepeatThatGrantsOthersIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"}).enqueue(2, 3, {.id = "k"}).claim(10, 11, "a", {.id = "j", .fence = 5}, "r");
  EXPECT_EQ(HistoryText(history).claim(20, 21, "a", {.id = "k", .fence = 6}, "r").broken(), "J2");
  EXPECT_EQ(HistoryText(history).claim(20, 21, "a", {.id = "j", .fence = 5, .left = 9'991'000}, "r").broken(), "");
  EXPECT_EQ(HistoryText(history).claim(10'100, 10'101, "a", {.id = "k", .fence = 6}, "r").broken(), "");
}

TEST(JobPromises, J3_AnOutcomeUnderAnOlderFenceIsFound) {
  HistoryText history = granted_to_a();
  history.claim(10'020, 10'030, "b", {.id = "j", .fence = 9, .deliveries = 2, .losses_in_row = 1, .forced = true});
  EXPECT_EQ(HistoryText(history).settle(10'040, 10'050, "a", "j", 5).broken(), "J3");
  EXPECT_EQ(HistoryText(history).settle(10'015, 10'050, "a", "j", 5).broken(),
            "J3");  // whenever it was, b's grant would be of a finished job
  EXPECT_EQ(HistoryText(history).settle(10'040, 10'050, "b", "j", 9).broken(), "");
}

TEST(JobPromises, J3_AnOutcomeThatCameBeforeTheTakeoverIsLawful) {
  HistoryText history = granted_to_a();
  history.settle(10'015, 10'050, "a", "j", 5, "later").claim(10'020, 10'060, "b", second(9));
  EXPECT_EQ(history.broken(), "");
}

TEST(JobPromises, J3_TwoOutcomesUnderOneFenceAreFound) {
  EXPECT_EQ(granted_to_a().settle(20, 21, "a", "j", 5).settle(30, 31, "a", "j", 5, "failed").broken(), "J3");
  EXPECT_EQ(granted_to_a().settle(20, 21, "a", "j", 5).settle(30, 31, "a", "j", 5).broken(), "");
}

TEST(JobPromises, J3_AFinishedJobThatRunsAgainIsFound) {
  EXPECT_EQ(granted_to_a().settle(20, 21, "a", "j", 5).claim(30, 31, "b", second(6)).broken(), "J3");
  HistoryText dead = granted_to_a();
  dead.settle(20, 21, "a", "j", 5, "dead");
  EXPECT_EQ(HistoryText(dead).claim(30, 31, "b", {.id = "j", .fence = 6, .deliveries = 2, .failures = 1}).broken(),
            "J3");
  EXPECT_EQ(HistoryText(dead).act(25, 26, Verb::retry, "j", "x").claim(30, 31, "b", second(6)).broken(), "");
}

TEST(JobPromises, J3_AnOutcomeAfterACancelIsFound) {
  HistoryText history = granted_to_a();
  history.act(20, 21, Verb::cancel, "j", "x");
  EXPECT_EQ(HistoryText(history).settle(30, 31, "a", "j", 5).broken(), "J3");
  EXPECT_EQ(HistoryText(history).refused(30, 31, Verb::settle, "a", "j", 5, "superseded", 7).broken(), "");
}

TEST(JobPromises, J3_ANoteUnderAnOlderFenceIsFound) {
  HistoryText history = granted_to_a();
  history.settle(20, 21, "a", "j", 5, "later").claim(30, 31, "b", second(6));
  EXPECT_EQ(HistoryText(history).call(40, 41, {.verb = Verb::record, .jobs = {{.id = "j", .fence = 5}}}).broken(),
            "J3");
  EXPECT_EQ(HistoryText(history).call(25, 41, {.verb = Verb::record, .jobs = {{.id = "j", .fence = 5}}}).broken(), "");
}

TEST(JobPromises, J3_ACancelOfADoneJobIsFound) {
  HistoryText history = granted_to_a();
  history.settle(20, 21, "a", "j", 5);
  EXPECT_EQ(HistoryText(history).act(30, 31, Verb::cancel, "j", "x").broken(), "J3");
  EXPECT_EQ(HistoryText(history).act(30, 31, Verb::cancel, "j", "x", "finished").broken(), "");
  EXPECT_EQ(granted_to_a().act(30, 31, Verb::cancel, "j", "x", "finished").broken(), "J3");
}

TEST(JobPromises, J4_AJobShownInAnotherStateIsFound) {
  HistoryText history = granted_to_a();
  const auto look = [](std::string state) {
    return Event{.jobs = {{.id = "j", .fence = 5}}, .state = std::move(state)};
  };
  const Event asked{.verb = Verb::look, .jobs = {{.id = "j"}}};
  EXPECT_EQ(HistoryText(history).call(20, 21, asked, look("ready")).broken(), "J4");
  EXPECT_EQ(HistoryText(history).call(20, 21, asked, look("running")).broken(), "");
  EXPECT_EQ(HistoryText(history).settle(18, 25, "a", "j", 5).call(20, 21, asked, look("done")).broken(), "");
}

TEST(JobPromises, J5_WrongCountsAreFound) {
  HistoryText lost = granted_to_a();
  EXPECT_EQ(HistoryText(lost)
                .claim(10'020, 10'030, "b",
                       {.id = "j", .fence = 6, .deliveries = 2, .failures = 1, .losses_in_row = 1, .forced = true})
                .broken(),
            "J5");
  EXPECT_EQ(
      HistoryText(lost).claim(10'020, 10'030, "b", {.id = "j", .fence = 6, .deliveries = 2, .forced = true}).broken(),
      "J5");
  EXPECT_EQ(
      HistoryText(lost)
          .claim(10'020, 10'030, "b", {.id = "j", .fence = 6, .deliveries = 3, .losses_in_row = 2, .forced = true})
          .broken(),
      "J5");
  EXPECT_EQ(
      HistoryText(lost)
          .claim(10'020, 10'030, "b", {.id = "j", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true})
          .broken(),
      "");
}

TEST(JobPromises, J5_ADeliveryThatNobodySawIsExplainedByAClaimWithoutAnAnswer) {
  HistoryText history = granted_to_a();
  history.call(10'020, 10'100,
               {.verb = Verb::claim, .owner = "b", .request = "lost", .queues = {"q"}, .limit = 1, .ttl = 10'000'000},
               {.kind = Kind::unknown});
  EXPECT_EQ(
      history.claim(20'500, 20'600, "c", {.id = "j", .fence = 9, .deliveries = 3, .losses_in_row = 2, .forced = true})
          .broken(),
      "");
}

TEST(JobPromises, J5_AJobThatMustRunAloneIsFoundAmongOthers) {
  HistoryText history('B', false);
  const history::JobPart lost{.id = "j", .fence = 5, .deliveries = 3, .losses_in_row = 2};
  EXPECT_EQ(HistoryText(history).claim_many(0, 1, "a", {lost, {.id = "k", .fence = 6}}).broken(), "J5");
  EXPECT_EQ(HistoryText(history).claim(0, 1, "a", lost).broken(), "");
  HistoryText beside(history);
  beside.claim(0, 1, "a", {.id = "k", .fence = 6}).handler(2, Kind::started, "a", "k", 6).claim(3, 4, "a", lost);
  EXPECT_EQ(HistoryText(beside).handler(5, Kind::started, "a", "j", 5).broken(), "J5");
  EXPECT_EQ(HistoryText(beside).handler(5, Kind::ended, "a", "k", 6).handler(6, Kind::started, "a", "j", 5).broken(),
            "");
}

TEST(JobPromises, J6_TwoUnfinishedJobsOfAKeyAreFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .key = "k"});
  EXPECT_EQ(HistoryText(history).enqueue(5, 6, {.id = "l", .key = "k"}).broken(), "J6");
  EXPECT_EQ(HistoryText(history).act(2, 3, Verb::cancel, "j", "x").enqueue(5, 6, {.id = "l", .key = "k"}).broken(), "");
}

TEST(JobPromises, J6_AnotherPayloadUnderATakenKeyIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .key = "k", .digest = "one"});
  const auto again = [](std::string digest) {
    return Event{.verb = Verb::enqueue,
                 .jobs = {{.id = "l", .queue = "q", .key = "k", .digest = std::move(digest), .attempts = 10}}};
  };
  EXPECT_EQ(HistoryText(history).call(5, 6, again("two"), {.ids = {"j"}, .existing = 1}).broken(), "J6");
  EXPECT_EQ(HistoryText(history).call(5, 6, again("one"), {.ids = {"j"}, .existing = 1}).broken(), "");
  EXPECT_EQ(HistoryText(history).call(5, 6, again("two"), {.kind = Kind::fail, .code = "conflict"}).broken(), "");
  EXPECT_EQ(HistoryText(history).call(5, 6, again("one"), {.kind = Kind::fail, .code = "conflict"}).broken(), "J6");
}

TEST(JobPromises, J6_ARetryOntoATakenKeyIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .key = "k"})
      .act(2, 3, Verb::cancel, "j", "x")
      .enqueue(5, 6, {.id = "l", .key = "k"});
  EXPECT_EQ(HistoryText(history).act(8, 9, Verb::retry, "j", "y").broken(), "J6");
  EXPECT_EQ(HistoryText(history).act(8, 9, Verb::retry, "j", "y", "key_taken").broken(), "");
}

TEST(JobPromises, J7_TwoOfAGroupAreFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .group = "g"})
      .enqueue(2, 3, {.id = "k", .group = "g"})
      .claim(10, 11, "a", {.id = "j", .group = "g", .fence = 5});
  EXPECT_EQ(HistoryText(history).claim(20, 21, "b", {.id = "k", .group = "g", .fence = 6}).broken(), "J7");
  EXPECT_EQ(HistoryText(history)
                .settle(15, 30, "a", "j", 5)
                .claim(20, 21, "b", {.id = "k", .group = "g", .fence = 6})
                .broken(),
            "");
}

TEST(JobPromises, J7_AGroupOutOfItsOrderIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .group = "g"});
  EXPECT_EQ(HistoryText(history)
                .enqueue(2, 3, {.id = "k", .group = "g"})
                .claim(10, 11, "a", {.id = "k", .group = "g", .fence = 5})
                .broken(),
            "J7");
  EXPECT_EQ(HistoryText(history)
                .enqueue(0, 3, {.id = "k", .group = "g"})
                .claim(10, 11, "a", {.id = "k", .group = "g", .fence = 5})
                .broken(),
            "");
}

TEST(JobPromises, J7_MoreThanTheLimitIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"})
      .enqueue(2, 3, {.id = "k"})
      .call(4, 5, {.verb = Verb::set_queue, .queue = "q", .limit = 1});
  history.claim(10, 11, "a", {.id = "j", .fence = 5});
  EXPECT_EQ(HistoryText(history).claim(20, 21, "b", {.id = "k", .fence = 6}).broken(), "J7");
  EXPECT_EQ(HistoryText(history)
                .call(12, 30, {.verb = Verb::set_queue, .queue = "q", .limit = 2})
                .claim(20, 21, "b", {.id = "k", .fence = 6})
                .broken(),
            "");
  EXPECT_EQ(HistoryText(history).claim(10'020, 10'030, "b", {.id = "k", .fence = 6}).broken(),
            "");  // who holds what is not certain any more
}

TEST(JobPromises, J7_MoreThanTheLimitOfAKeyIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .limit_key = "t"})
      .enqueue(2, 3, {.id = "k", .limit_key = "t"})
      .enqueue(2, 3, {.id = "l", .limit_key = "u"});
  history.call(4, 5, {.verb = Verb::set_queue, .queue = "q", .limit_per_key = 1})
      .claim(10, 11, "a", {.id = "j", .limit_key = "t", .fence = 5});
  EXPECT_EQ(HistoryText(history).claim(20, 21, "b", {.id = "k", .limit_key = "t", .fence = 6}).broken(), "J7");
  EXPECT_EQ(HistoryText(history).claim(20, 21, "b", {.id = "l", .limit_key = "u", .fence = 6}).broken(), "");
}

TEST(JobPromises, J7_ASlotThatIsNotKeptForARevokedDeliveryIsFound) {
  HistoryText history = granted_to_a();
  history.act(20, 21, Verb::retry, "j", "x");
  EXPECT_EQ(HistoryText(history).claim(30, 31, "b", second(9)).broken(), "J7");
  EXPECT_EQ(HistoryText(history)
                .call(25, 26, {.verb = Verb::stopped, .owner = "a", .jobs = {{.id = "j", .fence = 5}}})
                .claim(30, 31, "b", second(9))
                .broken(),
            "");
  EXPECT_EQ(HistoryText(history).claim(10'020, 10'030, "b", second(9)).broken(), "");
}

TEST(JobPromises, J7_ASlotGivenFreeUnderARunningHandlerIsFound) {
  HistoryText history = granted_to_a();
  history.handler(13, Kind::started, "a", "j", 5).act(20, 21, Verb::cancel, "j", "x");
  const Event stopped{.verb = Verb::stopped, .owner = "a", .jobs = {{.id = "j", .fence = 5}}};
  EXPECT_EQ(HistoryText(history).call(25, 26, stopped).broken(), "J7");
  EXPECT_EQ(HistoryText(history).handler(24, Kind::ended, "a", "j", 5).call(25, 26, stopped).broken(), "");
}

TEST(JobPromises, J8_WhatIsUnfinishedAtTheRestIsFound) {
  EXPECT_EQ(granted_to_a().settle(20, 21, "a", "j", 5, "later").mark(100, Kind::rest).broken(), "J8");
  EXPECT_EQ(granted_to_a()
                .settle(20, 21, "a", "j", 5, "later")
                .act(30, 31, Verb::cancel, "j", "x")
                .mark(100, Kind::rest)
                .broken(),
            "");
}

TEST(JobPromises, Pause_AGrantFromAPausedQueueIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"}).call(2, 3, {.verb = Verb::pause, .queue = "q", .paused = true});
  EXPECT_EQ(HistoryText(history).claim(10, 11, "a", {.id = "j", .fence = 5}).broken(), "pause");
  EXPECT_EQ(HistoryText(history)
                .call(8, 20, {.verb = Verb::pause, .queue = "q"})
                .claim(10, 11, "a", {.id = "j", .fence = 5})
                .broken(),
            "");
  HistoryText in_doubt(history);
  in_doubt.call(4, 5, {.verb = Verb::pause, .queue = "q"}, {.kind = Kind::unknown});
  EXPECT_EQ(in_doubt.claim(10, 11, "a", {.id = "j", .fence = 5}).broken(), "");
}

TEST(JobPromises, Pause_AGrantThatOnlyARepeatShowsMayBeOlderThanThePause) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  history.call(2, 5,
               {.verb = Verb::claim, .owner = "a", .request = "r", .queues = {"q"}, .limit = 1, .ttl = 10'000'000},
               {.kind = Kind::unknown});
  history.call(6, 7, {.verb = Verb::pause, .queue = "q", .paused = true});
  EXPECT_EQ(HistoryText(history).claim(10, 11, "a", {.id = "j", .fence = 5, .left = 9'993'000}, "r").broken(), "");
  EXPECT_EQ(HistoryText(history).claim(10, 11, "b", {.id = "j", .fence = 5}, "s").broken(), "pause");
}

TEST(JobPromises, OthersMayHaveBeenAtWorkIfTheHistoryIsNotWhole) {
  HistoryText history('B', false);
  history.claim(0, 1, "a", {.id = "j", .fence = 5}).refused(20'000, 20'001, Verb::settle, "a", "j", 5, "superseded", 8);
  EXPECT_EQ(HistoryText(history).claim(40'000, 40'001, "a", {.id = "j", .fence = 12, .deliveries = 4}).broken(), "");
  EXPECT_EQ(HistoryText(history).claim(40'000, 40'001, "a", {.id = "j", .fence = 7, .deliveries = 4}).broken(), "L2");
}

TEST(JobPromises, AClassThatForgetsIsNotBlamedForWhatItForgotInACrash) {
  HistoryText history('C');
  history.enqueue(0, 1, {.id = "j"}).claim(10, 12, "a", {.id = "j", .fence = 5}).mark(15, Kind::crash);
  history.claim(20, 21, "b", {.id = "j", .fence = 6, .deliveries = 1});
  EXPECT_EQ(history.broken(), "");
  EXPECT_EQ(history.broken({.guarantee = 'B'}), "L3");
}

TEST(JobPromises, FencesGrowOverACrashOfAClassThatForgets) {
  HistoryText history('C');
  history.enqueue(0, 1, {.id = "j"}).claim(10, 12, "a", {.id = "j", .fence = 5}).mark(15, Kind::crash);
  EXPECT_EQ(history.claim(20, 21, "b", {.id = "j", .fence = 5, .deliveries = 1}).broken(), "L2");
}

}  // namespace
}  // namespace fenceline::audit
