// Each promise of schedules: a history that breaks it, and one that is close and lawful.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

// Put at second 10, and its tick at 11 has fired.
HistoryText fired_once(char guarantee = 'B', bool whole = true) {
  HistoryText history(guarantee, whole);
  history.change(1, "put", 0, 10).step(10, 1, 10, 11, {11}, "a");
  return history;
}

Event with_code(const std::string& code) {
  return {.kind = Kind::fail, .code = code, .stands = 11'000'000, .wall = 12'000'000};
}

TEST(SchedulePromises, AGoodDayBreaksNothing) {
  HistoryText history = fired_once();
  history.step(12, 1, 11, 12, {12}, "b").step(13, 1, 11, 12, {12}, "c", with_code("moved"));
  history.change(14, "pause", 1, 12)
      .skip(20, 2, 12, 20, {.tick = 13, .last = 20, .count = 8})
      .change(21, "resume", 2, 20);
  history.change(30, "rewind", 3, 14, {.from = 20, .to = 14}).step(31, 4, 14, 20, {15, 16, 20}, "d");
  const Verdict verdict = history.verdict();
  EXPECT_TRUE(verdict.holds()) << verdict.violations.front().sentence;
  EXPECT_EQ(verdict.schedules, 1);
  EXPECT_EQ(verdict.ticks, 5);
}

TEST(SchedulePromises, S1_ATickThatIsFiredByTwoStepsIsFound) {
  HistoryText history = fired_once();
  history.step(12, 1, 10, 11, {11}, "b");
  const Verdict verdict = history.verdict();
  ASSERT_FALSE(verdict.holds());
  EXPECT_EQ(verdict.violations.front().promise, "S1");
  EXPECT_EQ(verdict.violations.front().sentence,
            "schedule s fired its tick 1970-01-01T00:00:11Z twice, for jobs a and b");
  ASSERT_EQ(verdict.violations.front().excerpt.size(), 4U);
  EXPECT_EQ(verdict.violations.front().excerpt.front().words,
            "0.010000s  w: step_ticks of schedule s, revision 1, from 1970-01-01T00:00:10Z to 1970-01-01T00:00:11Z, "
            "fires 1 (request of a)");
  EXPECT_EQ(fired_once().step(12, 1, 10, 11, {11}, "b", with_code("moved")).broken(), "");
  EXPECT_EQ(fired_once('B', false).step(12, 1, 10, 11, {11}, "b").broken(), "S1") << "whoever else is at work";
}

TEST(SchedulePromises, S1_AcrossAChangeToo) {
  HistoryText history = fired_once();
  history.change(20, "remove", 1, 11).change(30, "put", 2, 10);
  EXPECT_EQ(HistoryText(history).step(40, 3, 10, 12, {11, 12}, "b").broken(), "S1");
  EXPECT_EQ(HistoryText(history)
                .step(40, 3, 10, 12, {11, 12}, "b", {.refused = {{.id = "b11", .tick = 11'000'000}}})
                .broken(),
            "")
      << "it is told that one had fired";
}

TEST(SchedulePromises, S1_ARepeatIsTheSameStepAndWhatHasNoAnswerMayNotHaveHappened) {
  EXPECT_EQ(fired_once().step(12, 1, 10, 11, {11}, "a").broken(), "");
  EXPECT_EQ(fired_once().step(12, 1, 10, 11, {11}, "b", {.kind = Kind::unknown}).broken(), "");
  EXPECT_EQ(fired_once()
                .step(12, 1, 11, 12, {12}, "b", {.kind = Kind::unknown})
                .step(13, 1, 11, 12, {12}, "b", with_code("moved"))
                .step(14, 1, 12, 13, {13}, "c")
                .broken(),
            "")
      << "it may have led there";
}

TEST(SchedulePromises, S1_EachTickHasAJobOfItsOwnThatWasEnqueued) {
  EXPECT_EQ(fired_once().step(12, 1, 11, 12, {12}, "a").broken(), "") << "a repeat, however it is spelled";
  HistoryText same = fired_once();
  same.call(12, 13,
            {.verb = Verb::step_ticks,
             .request = "other",
             .name = "s",
             .from = 11'000'000,
             .to = 12'000'000,
             .ticks = {{.id = "a", .tick = 12'000'000}},
             .revision = 1},
            {.stands = 12'000'000, .wall = 12'000'000, .revision = 1});
  EXPECT_EQ(same.broken(), "S1");
  HistoryText missing = fired_once();
  missing.call(12, 13, {.verb = Verb::enqueue, .jobs = {{.id = "a", .queue = "q", .digest = "d", .attempts = 10}}},
               {.kind = Kind::fail, .code = "unavailable"});
  EXPECT_EQ(missing.broken(), "S1");
  EXPECT_EQ(missing.enqueue(14, 15, {.id = "a"}).broken(), "");
}

TEST(SchedulePromises, S1_IsJudgedOverAllClocks) {
  const auto of = [](Checker& checker, const std::string& by, const std::string& job) {
    checker.add({.kind = Kind::recorder, .by = by, .version = history::kFormatVersion, .guarantee = "B", .clock = by},
                {0, 1});
    checker.add({.by = by,
                 .n = 1,
                 .verb = Verb::step_ticks,
                 .ns = "n",
                 .request = job,
                 .name = "s",
                 .from = 10,
                 .to = 11,
                 .ticks = {{.id = job, .tick = 11}},
                 .revision = 1},
                {0, 2});
    checker.add({.kind = Kind::ok, .by = by, .n = 1, .stands = 11, .wall = 11, .revision = 1}, {0, 3});
  };
  Checker one;
  of(one, "w", "a");
  of(one, "v", "b");
  const Verdict verdict = one.finish();
  ASSERT_FALSE(verdict.holds());
  EXPECT_EQ(verdict.violations.front().promise, "S1");
  EXPECT_EQ(verdict.clocks, 2);
}

TEST(SchedulePromises, S1_OnlyAStoreThatForgetsMayFireAgainAfterACrash) {
  for (const char guarantee : {'A', 'B'})
    EXPECT_EQ(fired_once(guarantee).mark(11, Kind::crash).step(12, 1, 10, 11, {11}, "b").broken(), "S1");
  for (const char guarantee : {'C', 'D'}) {
    EXPECT_EQ(fired_once(guarantee).mark(11, Kind::crash).step(12, 1, 10, 11, {11}, "b").broken(), "");
    EXPECT_EQ(fired_once(guarantee).step(12, 1, 10, 11, {11}, "b").mark(14, Kind::crash).broken(), "S1")
        << "it was broken before";
  }
}

TEST(SchedulePromises, S1_WhatARemovalOfTheNamespaceForgotMayFireAgain) {
  EXPECT_EQ(fired_once()
                .call(11, 12, {.verb = Verb::remove_namespace})
                .change(13, "put", 0, 10)
                .step(14, 1, 10, 11, {11}, "b")
                .broken(),
            "");
}

TEST(SchedulePromises, S2_StepsThatGoOverEachOtherAreFound) {
  EXPECT_EQ(fired_once().step(12, 1, 10, 12, {12}, "b").broken(), "S2");
  EXPECT_EQ(fired_once('B', false).step(12, 1, 10, 12, {12}, "b").broken(), "S2");
  EXPECT_EQ(fired_once().step(12, 1, 11, 12, {12}, "b").broken(), "");
}

TEST(SchedulePromises, S2_AStepFromWhereNothingHadLedIsFoundIfAllStepsAreThere) {
  EXPECT_EQ(fired_once().step(13, 1, 12, 13, {13}, "b").broken(), "S2");
  EXPECT_EQ(fired_once('B', false).step(13, 1, 12, 13, {13}, "b").broken(), "") << "somebody else's may be between";
  EXPECT_EQ(
      fired_once().step(11, 1, 11, 12, {12}, "c", {.kind = Kind::unknown}).step(13, 1, 12, 13, {13}, "b").broken(), "");
  EXPECT_EQ(HistoryText().step(13, 4, 12, 13, {13}, "b").step(14, 4, 13, 14, {14}, "c").broken(), "")
      << "nobody knows where a revision began";
  EXPECT_EQ(HistoryText().step(13, 4, 12, 13, {13}, "b").step(14, 4, 14, 15, {15}, "c").broken(), "S2");
}

TEST(SchedulePromises, S2_AnAccountStandsWhereItWasMoved) {
  EXPECT_EQ(fired_once().step(12, 1, 11, 12, {12}, "b", {.stands = 11'000'000}).broken(), "S2");
  EXPECT_EQ(fired_once().change(12, "rewind", 1, 11, {.from = 11, .to = 10}).broken(), "S2");
  EXPECT_EQ(fired_once().change(12, "rewind", 1, 10, {.from = 11, .to = 10}).broken(), "");
}

TEST(SchedulePromises, S2_WhatFiredIsNotSkippedLater) {
  HistoryText history = fired_once();
  history.change(12, "rewind", 1, 10, {.from = 11, .to = 10});
  EXPECT_EQ(HistoryText(history).skip(13, 2, 10, 13, {.tick = 11, .last = 13, .count = 3}).broken(), "S2");
  EXPECT_EQ(HistoryText(history).skip(13, 2, 10, 13, {.tick = 12, .last = 13, .count = 2}).broken(), "");
  HistoryText skipped;
  skipped.change(1, "put", 0, 10)
      .skip(2, 1, 10, 13, {.tick = 11, .last = 13, .count = 3})
      .change(3, "rewind", 1, 10, {.from = 13, .to = 10});
  EXPECT_EQ(skipped.step(4, 2, 10, 13, {11, 12, 13}, "b").broken(), "") << "it was open again";
}

TEST(SchedulePromises, S2_NoTickLiesOutsideOfItsStep) {
  EXPECT_EQ(fired_once().step(12, 1, 11, 12, {13}, "b").broken(), "S2");
  EXPECT_EQ(fired_once().skip(12, 1, 11, 14, {.tick = 11, .last = 13, .count = 3}).broken(), "S2");
}

TEST(SchedulePromises, S3_WhatFiredDoesNotFireAgainAfterAnAccountWasMovedBack) {
  HistoryText history = fired_once();
  history.change(12, "rewind", 1, 10, {.from = 11, .to = 10});
  EXPECT_EQ(HistoryText(history).step(13, 2, 10, 11, {11}, "b").broken(), "S3");
  EXPECT_EQ(
      HistoryText(history).step(13, 2, 10, 11, {11}, "b", {.refused = {{.id = "b", .tick = 11'000'000}}}).broken(), "");
}

TEST(SchedulePromises, S3_AStepBeyondTheStoresClockIsFound) {
  EXPECT_EQ(fired_once().step(12, 1, 11, 12, {12}, "b", {.wall = 11'999'999}).broken(), "S3");
  EXPECT_EQ(fired_once().step(12, 1, 11, 12, {12}, "b", {.wall = 12'000'000}).broken(), "");
  HistoryText repeated = fired_once();
  repeated.step(12, 1, 11, 12, {12}, "b", {.kind = Kind::unknown});
  EXPECT_EQ(repeated.step(13, 1, 11, 12, {12}, "b", {.wall = 1'000'000}).broken(), "")
      << "the clock may have been set back since";
}

}  // namespace
}  // namespace fenceline::audit
