// What every store promises about forgetting ticks and schedules: a tick of which nothing is left but the bar never
// fires again (S1).
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using KeptLines = std::vector<std::string>;

constexpr std::int64_t kMinutesADay = 24 * 60;

TEST_P(ScheduleConformance, S1_TicksAreKeptForAWeekAndThenTheBarStandsForThem) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = moved(step(row, 9, {1, 5, 9}, {skipping(2, 4), skipping(6, 8)}));
  set_wall(minute(1) + kTicksKeptFor - kMoment);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(schedule(), row);
  set_wall(minute(1) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(schedule().bar, minute(1));
  set_wall(minute(4) + kTicksKeptFor - kMoment);
  EXPECT_EQ(tidied(), 0) << "a range is as old as its last tick";
  set_wall(minute(7) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 2);
  row = schedule();
  EXPECT_EQ(row.bar, minute(5));
  EXPECT_EQ(row.fired_to, minute(9));
  EXPECT_EQ(history(), (KeptLines{"6-8 missed", "9 fired"}));
  EXPECT_EQ(tried(rewinding(row, 4)), "refused") << "not beyond the bar";
  row = changed(rewinding(row, 5));
  EXPECT_EQ(stepped(step(row, 9, {6, 9}, {skipping(7, 8)})).duplicates, std::vector{minute(9)});
  set_wall(minute(9) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 3);
  row = schedule();
  EXPECT_EQ(row.bar, minute(9));
  EXPECT_EQ(row.fired_to, minute(9)) << "the bar counts";
  EXPECT_TRUE(history().empty());
}

TEST_P(ScheduleConformance, S1_ATickAtOrBeforeTheBarCountsAsThere) {
  ScheduleRow row = added_schedule();
  set_minute(4);
  row = moved(step(row, 4, {2, 4}));
  set_wall(minute(2) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 1);
  changed(schedule(), ScheduleChange::remove);
  set_minute(0);
  row = added_schedule();
  EXPECT_EQ(row.bar, minute(2));
  set_minute(5);
  EXPECT_EQ(stepped(step(row, 3, {1, 2, 3})).duplicates, (std::vector{minute(1), minute(2)}));
  EXPECT_EQ(history(), (KeptLines{"3 fired", "4 fired"}));
  EXPECT_EQ(everything().size(), 3u);
}

TEST_P(ScheduleConformance, S2_ASkippedRangeThatIsForgottenLeavesNoBar) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = moved(step(row, 5, {1}, {skipping(2, 5)}));
  set_wall(minute(5) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 2);
  row = schedule();
  EXPECT_EQ(row.bar, minute(1));
  EXPECT_EQ(row.fired_to, minute(1));
  row = changed(rewinding(row, 1));
  EXPECT_TRUE(stepped(step(row, 5, {2, 5})).duplicates.empty());
  EXPECT_EQ(history(), (KeptLines{"2 fired", "5 fired"}));
}

TEST_P(ScheduleConformance, OfOneScheduleTheLargestTicksAreKept) {
  ScheduleRow row = added_schedule();
  const ScheduleRow other = added_schedule("other");
  constexpr std::int64_t kStep = 2'001;
  constexpr std::int64_t kSteps =
      5;  // 10,005 rows: every tenth fires, and of two ranges beside each other none is like the other
  static_assert(kStep * kSteps == kTicksKeptMost + 5);
  set_minute(kStep * kSteps);
  moved(step(other, 1, {1}));
  for (std::int64_t from = 0; from < kStep * kSteps; from += kStep) {
    TickStep next = step(row, from + kStep);
    for (std::int64_t i = from + 1; i <= from + kStep; ++i) {
      if (i % 10 == 3) next.fired.push_back({minute(i), new_job()});
      else next.skipped.push_back(skipping(i, i, i % 2 == 0 ? "missed" : "cap"));
    }
    row = moved(next);
  }
  EXPECT_EQ(ticks().size(), static_cast<std::size_t>(kTicksKeptMost) + 5);
  TidyReply reply = must(store().tidy({.ns = "default", .limit = 2}));
  EXPECT_EQ(reply.removed, 2);
  EXPECT_TRUE(reply.more);
  EXPECT_EQ(ticks().back().tick, minute(3)) << "the smallest first";
  EXPECT_EQ(schedule().bar, WallTime{});
  EXPECT_EQ(tidied(), 3);
  EXPECT_EQ(schedule().bar, minute(3)) << "the largest of them that fired";
  EXPECT_EQ(ticks().size(), static_cast<std::size_t>(kTicksKeptMost));
  EXPECT_EQ(ticks().back().tick, minute(6));
  EXPECT_EQ(history("other"), KeptLines{"1 fired"}) << "each is counted by itself";
  EXPECT_EQ(tidied(), 0);
}

TEST_P(ScheduleConformance, S2_WhatFiredAfterTheAccountIsKeptSoThatNoOpenTickIsEnded) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = changed(moved(step(row, 5, {1, 3, 5}, {skipping(2, 2), skipping(4, 4)})), ScheduleChange::pause);
  row = changed(rewinding(row, 1));
  set_wall(minute(5) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(tidied(), 0);
  row = schedule();
  EXPECT_EQ(row.bar, minute(1));
  EXPECT_EQ(row.fired_to, minute(5));
  EXPECT_EQ(history(), (KeptLines{"3 fired", "5 fired"}));
  EXPECT_EQ(stepped(step(row, 3, {2, 3})).duplicates, std::vector{minute(3)}) << "the tick between was open, and fires";
  EXPECT_EQ(tidied(), 2) << "what the account has come to goes";
  row = schedule();
  EXPECT_EQ(row.bar, minute(3));
  moved(step(row, 5, {}, {skipping(4, 4)}));
  EXPECT_EQ(tidied(), 2);
  EXPECT_EQ(schedule().bar, minute(5));
  EXPECT_TRUE(history().empty());
}

TEST_P(ScheduleConformance, S2_OfTooManyTicksThoseAfterTheAccountAreKept) {
  ScheduleRow row = added_schedule();
  constexpr std::int64_t kStep = 2'001;
  constexpr std::int64_t kSteps = 5;
  static_assert(kStep * kSteps == kTicksKeptMost + 5);
  set_minute(kStep * kSteps);
  for (std::int64_t from = 0; from < kStep * kSteps; from += kStep) {
    TickStep next = step(row, from + kStep);
    for (std::int64_t i = from + 1; i <= from + kStep; ++i) next.fired.push_back({minute(i), new_job()});
    row = moved(next);
  }
  row = changed(rewinding(row, 3));
  const TidyReply reply = must(store().tidy({.ns = "default", .limit = 3}));
  EXPECT_EQ(reply.removed, 3);
  EXPECT_FALSE(reply.more);
  EXPECT_EQ(tidied(), 0);
  row = schedule();
  EXPECT_EQ(row.bar, minute(3));
  EXPECT_EQ(ticks().size(), static_cast<std::size_t>(kTicksKeptMost) + 2);
  row = moved(step(row, 4));
  EXPECT_EQ(tidied(), 1);
  changed(row, ScheduleChange::remove);
  EXPECT_EQ(tidied(), 1) << "one that is removed has no open ticks";
}

TEST_P(ScheduleConformance, WhatFiredAfterTheAccountOfARemovedScheduleIsForgottenInItsTime) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  row = changed(rewinding(moved(step(row, 3, {1, 3})), 1));
  changed(row, ScheduleChange::remove);
  set_wall(minute(3) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 2);
  set_wall(minute(3) + kRemovedScheduleKeptFor);
  EXPECT_EQ(tidied(), 1) << "the schedule";
  EXPECT_EQ(added_schedule().bar, minute(3));
}

TEST_P(ScheduleConformance, WhatIsLeftOfARemovedScheduleIsForgottenAfterAMonth) {
  ScheduleRow row = added_schedule();
  added_schedule("stays");
  set_minute(2);
  moved(step(row, 2, {1}));
  set_minute(10);
  changed(schedule(), ScheduleChange::remove);
  set_wall(minute(10) + kRemovedScheduleKeptFor - kMoment);
  EXPECT_EQ(tidied(), 1) << "its tick, long since";
  SchedulesRequest all;
  all.ns = "default";
  all.changed_after = 0;
  EXPECT_EQ(must(store().schedules(all)).schedules.size(), 2u);
  set_wall(minute(10) + kRemovedScheduleKeptFor);
  EXPECT_EQ(tidied(), 1);
  const SchedulesReply reply = must(store().schedules(all));
  ASSERT_EQ(reply.schedules.size(), 1u);
  EXPECT_EQ(reply.schedules[0].name, "stays");
  EXPECT_EQ(reply.version, 3) << "the count of changes goes on";
}

TEST_P(ScheduleConformance, WhatFiredLaterThanTheRemovalIsNotForgottenBeforeItsTime) {
  ScheduleRow row = added_schedule();
  set_minute(30 * kMinutesADay);
  row = moved(step(row, 30 * kMinutesADay, {30 * kMinutesADay}));
  set_minute(0);
  changed(row, ScheduleChange::remove);
  SchedulesRequest all;
  all.ns = "default";
  all.changed_after = 0;
  const auto known = [&] { return must(store().schedules(all)).schedules.size(); };
  set_wall(minute(37 * kMinutesADay) - kMoment);
  EXPECT_EQ(tidied(), 0) << "its tick is not old enough";
  set_wall(minute(60 * kMinutesADay) - kMoment);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(known(), 1u) << "its bar is not old enough";
  set_wall(minute(60 * kMinutesADay));
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(known(), 0u);
}

TEST_P(ScheduleConformance, S1_TheBarOfWhatWasForgottenIsThatOfEveryNameThatIsNotThere) {
  ScheduleRow first = added_schedule("a");
  ScheduleRow second = added_schedule("b");
  const ScheduleRow there = added_schedule("there");
  set_minute(9);
  changed(moved(step(first, 7, {7})), ScheduleChange::remove);
  changed(moved(step(second, 9, {5})), ScheduleChange::remove);
  set_wall(minute(9) + kRemovedScheduleKeptFor);
  EXPECT_EQ(tidied(), 4);
  set_minute(0);
  for (const char* name : {"a", "b", "new"}) {
    const ScheduleRow row = added_schedule(name);
    EXPECT_EQ(row.bar, minute(7)) << "the largest of them";
    EXPECT_EQ(row.fired_to, minute(7));
    EXPECT_EQ(row.resolved_to, minute(0));
    EXPECT_EQ(row.revision, row.version) << "larger than any that it had";
  }
  EXPECT_EQ(schedule("there"), there);
  set_minute(9);
  EXPECT_EQ(stepped(step(schedule("b"), 9, {5, 7, 9})).duplicates, (std::vector{minute(5), minute(7)}));
  EXPECT_TRUE(stepped(step(there, 9, {5})).duplicates.empty());
  ScheduleRow elsewhere = nothing("a");
  ChangeScheduleRequest put = changing(elsewhere, ScheduleChange::put);
  put.ns = "other";
  EXPECT_EQ(changed(put).bar, WallTime{}) << "namespaces have their own";
}

TEST_P(ScheduleConformance, S1_TheBarsOutliveTheProcess) {
  ScheduleRow row = added_schedule("a");
  ScheduleRow gone = added_schedule("b");
  set_minute(9);
  moved(step(row, 9, {8}));
  changed(moved(step(gone, 9, {9})), ScheduleChange::remove);
  set_wall(minute(9) + kRemovedScheduleKeptFor);
  EXPECT_EQ(tidied(), 3);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(schedule("a").bar, minute(8));
  EXPECT_EQ(added_schedule("b").bar, minute(9));
}

TEST_P(ScheduleConformance, OfAllTicksTheSmallestAreForgottenFirst) {
  const ScheduleRow first = added_schedule("a");
  const ScheduleRow second = added_schedule("b");
  set_minute(3);
  moved(step(first, 3, {2, 3}));
  moved(step(second, 3, {1}, {skipping(2, 3)}));
  set_wall(minute(3) + kTicksKeptFor);
  for (const auto& [a, b] : std::vector<std::pair<std::size_t, std::size_t>>{{2, 1}, {1, 1}, {1, 0}, {0, 0}}) {
    EXPECT_EQ(must(store().tidy({.ns = "default", .limit = 1})).removed, 1);
    EXPECT_EQ(history("a").size(), a);
    EXPECT_EQ(history("b").size(), b);
  }
  EXPECT_EQ(tidied(), 0);
}

TEST_P(ScheduleConformance, ForgettingGoesInBoundedSteps) {
  for (const char* name : {"a", "b", "c"}) changed(added_schedule(name), ScheduleChange::remove);
  set_wall(minute(0) + kRemovedScheduleKeptFor);
  TidyReply reply = must(store().tidy({.ns = "default", .limit = 2}));
  EXPECT_EQ(reply.removed, 2);
  EXPECT_TRUE(reply.more);
  reply = must(store().tidy({.ns = "default", .limit = 2}));
  EXPECT_EQ(reply.removed, 1);
  EXPECT_FALSE(reply.more);
}

TEST_P(ScheduleConformance, ATidyKeepsTheTicksOfOtherNamespaces) {
  ChangeScheduleRequest put = changing(nothing(), ScheduleChange::put);
  put.ns = "other";
  const ScheduleRow row = changed(put);
  set_minute(1);
  StepRequest fires = stepping({step(row, 1, {}, {skipping(1, 1)})});
  fires.ns = "other";
  must(store().step_ticks(fires));
  set_wall(minute(1) + kTicksKeptFor);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(tidied("other"), 1);
}

TEST_P(ScheduleConformance, ARemovedNamespaceHasNoSchedules) {
  ScheduleRow row = added_schedule();
  set_minute(2);
  row = moved(step(row, 2, {1, 2}));
  must(store().remove_namespace("default", kAct));
  SchedulesRequest all;
  all.ns = "default";
  all.changed_after = 0;
  const SchedulesReply reply = must(store().schedules(all));
  EXPECT_TRUE(reply.schedules.empty());
  EXPECT_EQ(reply.version, 0);
  EXPECT_TRUE(ticks().empty());
  EXPECT_EQ(tried(step(row, 3)), "not_found");
  const ScheduleRow anew = added_schedule();
  EXPECT_EQ(anew.revision, 1);
  EXPECT_EQ(anew.bar, WallTime{});
  EXPECT_EQ(anew.fired_to, WallTime{});
  EXPECT_TRUE(history().empty());
}

}  // namespace
}  // namespace fenceline::test
