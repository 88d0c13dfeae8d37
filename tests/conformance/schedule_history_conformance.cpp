// What every store promises about what became of ticks: each ends as fired or in a range of skipped ones with its
// reason (S2), also when an account is moved back.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TicksRequest asking_for_ticks(int limit, bool fired_only = false) {
  TicksRequest request;
  request.ns = "default";
  request.schedule = "s";
  request.limit = limit;
  request.fired_only = fired_only;
  return request;
}

TEST_P(ScheduleConformance, S2_ARangeThatFollowsUponOneOfTheSameReasonIsJoinedToIt) {
  ScheduleRow row = added_schedule();
  set_minute(2);
  row = moved(step(row, 2, {}, {skipping(1, 2)}));
  set_minute(9);
  StepRequest later = stepping({step(row, 9, {}, {skipping(3, 4), skipping(7, 8)})});
  later.owner = "next";
  later.place = "host:2";
  must(store().step_ticks(later));
  EXPECT_EQ(history(), Lines{"1-8 missed 6"}) << "ticks are counted: there were none in minutes 5 and 6";
  const TickRow range = ticks().at(0);
  EXPECT_EQ(range.at, minute(9)) << "of a range its last joining";
  EXPECT_EQ(range.owner, "next");
  EXPECT_EQ(range.place, "host:2");
}

TEST_P(ScheduleConformance, S2_ARangeCountsMoreTicksThanAnIntHolds) {
  constexpr std::int64_t kMany = 5'400'000'000;  // one a second, up to 2199
  ScheduleRow row = added_schedule();
  set_wall(minute(1) + std::chrono::seconds{kMany});
  TickStep ahead = step(row, 2, {}, {{minute(1), wall(), kMany, "window"}});
  ahead.to = wall();
  row = moved(ahead);
  EXPECT_EQ(ticks().at(0).count, kMany);
  EXPECT_EQ(ticks().at(0).last, wall());
  EXPECT_EQ(row.resolved_to, wall());
  set_minute(3);
  ChangeScheduleRequest rewind = rewinding(row, 3);
  rewind.kept = {minute(1), minute(3), 121, "window"};
  row = changed(rewind);
  EXPECT_EQ(ticks().at(0).count, 121);
}

TEST_P(ScheduleConformance, S2_RangesOfOtherReasonsOrWithARowBetweenStayApart) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = moved(step(row, 6, {3}, {skipping(1, 2), skipping(4, 4), skipping(5, 6, "cap")}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3 fired", "4 missed", "5-6 cap"}));
  row = moved(step(row, 9, {}, {skipping(7, 7), skipping(8, 8, "cap"), skipping(9, 9)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3 fired", "4 missed", "5-6 cap", "7 missed", "8 cap", "9 missed"}));
}

TEST_P(ScheduleConformance, S2_RangesAreNotJoinedOverATickThatFiredBefore) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = changed(rewinding(moved(step(row, 3, {3})), 0));
  row = moved(step(row, 5, {}, {skipping(1, 2), skipping(4, 5)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3 fired", "4-5 missed"}));
  row = changed(rewinding(row, 0));
  EXPECT_EQ(history(), Lines{"3 fired"});
  row = moved(step(row, 5, {3}, {skipping(1, 2), skipping(4, 5)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3 fired", "4-5 missed"})) << "a duplicate is a row as well";
}

TEST_P(ScheduleConformance, S2_ARangeOfAnotherSpecStaysApart) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = changed(moved(step(row, 2, {}, {skipping(1, 2)})), ScheduleChange::put);
  row = moved(step(row, 4, {}, {skipping(3, 4)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3-4 missed"})) << "nobody could count a part of both";
  row = moved(step(row, 5, {}, {skipping(5, 5)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3-5 missed"}));
  row = changed(changed(row, ScheduleChange::pause), ScheduleChange::resume);
  row = moved(step(row, 6, {}, {skipping(6, 6)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3-6 missed"})) << "it is the same spec";
}

TEST_P(ScheduleConformance, S2_ARewindOpensWhatWasSkippedAfterItAndLeavesTheRest) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = moved(step(row, 9, {3, 7}, {skipping(1, 2), skipping(4, 5, "cap"), skipping(6, 6), skipping(8, 9, "overlap")}));
  row = changed(rewinding(row, 5));
  EXPECT_EQ(row.resolved_to, minute(5));
  EXPECT_EQ(row.fired_to, minute(7));
  EXPECT_EQ(row.counts_from, minute(0));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3 fired", "4-5 cap", "7 fired"}));
  row = moved(step(row, 9, {6, 8}, {skipping(9, 9)}));
  EXPECT_EQ(history(), (Lines{"1-2 missed", "3 fired", "4-5 cap", "6 fired", "7 fired", "8 fired", "9 missed"}));
}

TEST_P(ScheduleConformance, S2_OfARangeThatGoesOverTheMomentStaysWhatIsKept) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = moved(step(row, 9, {1}, {skipping(2, 9)}));
  const TickRow before = ticks().at(0);
  let_time_pass(1s);
  ChangeScheduleRequest rewind = rewinding(row, 5);
  rewind.to += 30s;
  rewind.kept = skipping(2, 5);
  row = changed(rewind);
  EXPECT_EQ(row.resolved_to, minute(5) + 30s);
  EXPECT_EQ(history(), (Lines{"1 fired", "2-5 missed"}));
  TickRow expected = before;
  expected.last = minute(5);
  expected.count = 4;
  EXPECT_EQ(ticks().at(0), expected);
  TickStep on = step(row, 7, {}, {skipping(6, 7)});
  row = moved(on);
  EXPECT_EQ(history(), (Lines{"1 fired", "2-7 missed"}));
}

TEST_P(ScheduleConformance, WhatIsKeptMustFit) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = moved(step(row, 9, {}, {skipping(2, 5), skipping(7, 9, "cap")}));
  const auto answer = [&](std::int64_t to, const std::optional<SkippedTicks>& kept) {
    ChangeScheduleRequest request = rewinding(row, to);
    request.kept = kept;
    return tried(request);
  };
  EXPECT_EQ(answer(3, std::nullopt), "conflict") << "one is needed";
  EXPECT_EQ(answer(3, skipping(1, 3)), "conflict") << "its first tick";
  EXPECT_EQ(answer(3, skipping(3, 3)), "conflict") << "its first tick";
  EXPECT_EQ(answer(3, skipping(2, 3, "cap")), "conflict") << "its reason";
  SkippedTicks all = skipping(2, 3);
  all.count = 4;
  EXPECT_EQ(answer(3, all), "conflict") << "fewer than there were";
  EXPECT_EQ(answer(6, skipping(2, 5)), "conflict") << "no range goes over it";
  EXPECT_EQ(answer(5, skipping(2, 5)), "conflict") << "it ends there";
  EXPECT_EQ(answer(1, skipping(1, 1)), "conflict") << "it begins after it";
  EXPECT_EQ(schedule(), row);
  EXPECT_EQ(history(), (Lines{"2-5 missed", "7-9 cap"}));
  EXPECT_EQ(answer(2, skipping(2, 2)), "") << "a range begins there";
  EXPECT_EQ(history(), Lines{"2 missed"});
}

TEST_P(ScheduleConformance, ARewindGoesFromWhereTheAccountIsAndNotBeyondTheSpec) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = changed(moved(step(row, 3, {3})), ScheduleChange::put);
  const ScheduleRow seen = row;
  row = moved(step(row, 6, {6}));
  EXPECT_EQ(tried(rewinding(row, 2)), "refused");
  ChangeScheduleRequest moment_before = rewinding(row, 3);
  moment_before.to -= kMoment;
  EXPECT_EQ(tried(moment_before), "refused");
  ScheduleRow elsewhere = row;
  elsewhere.resolved_to = minute(5);
  EXPECT_EQ(tried(rewinding(elsewhere, 4)), "conflict");
  EXPECT_EQ(tried(rewinding(elsewhere, 2)), "conflict") << "where it stands comes first";
  EXPECT_EQ(schedule(), row);
  row = changed(rewinding(row, 3));
  EXPECT_EQ(row.resolved_to, seen.resolved_to);
  EXPECT_EQ(row.counts_from, minute(3));
  EXPECT_EQ(stepped(step(row, 6, {4, 6})).duplicates, std::vector{minute(6)});
}

TEST_P(ScheduleConformance, APausedScheduleCanBeMovedBack) {
  ScheduleRow row = added_schedule();
  set_minute(4);
  row = changed(moved(step(row, 4, {}, {skipping(1, 4)})), ScheduleChange::pause);
  row = changed(rewinding(row, 0));
  EXPECT_TRUE(row.paused);
  EXPECT_TRUE(history().empty());
}

TEST_P(ScheduleConformance, TheHistoryComesPageByPageTheLargestFirst) {
  ScheduleRow row = added_schedule();
  set_minute(20);
  row = moved(step(row, 20, {1, 4, 5, 10, 20}, {skipping(2, 3), skipping(6, 9), skipping(11, 15, "cap")}));
  const std::vector<TickRow> all = must(store().ticks(asking_for_ticks(1000))).ticks;
  ASSERT_EQ(all.size(), 8u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i].tick, all[i - 1].tick);
  for (int limit = 1; limit <= 9; ++limit) {
    std::vector<TickRow> paged;
    TicksRequest request = asking_for_ticks(limit);
    for (;;) {
      const TicksReply reply = must(store().ticks(request));
      EXPECT_LE(reply.ticks.size(), static_cast<std::size_t>(limit));
      paged.insert(paged.end(), reply.ticks.begin(), reply.ticks.end());
      EXPECT_EQ(reply.next.has_value(), paged.size() < all.size()) << "a page behind has something on it";
      if (!reply.next) break;
      request.before = reply.next;
    }
    EXPECT_EQ(paged, all);
  }
}

TEST_P(ScheduleConformance, TheHistoryCanBeOfFiredTicksAndOfATime) {
  ScheduleRow row = added_schedule();
  set_minute(20);
  row = moved(step(row, 20, {1, 4, 5, 10}, {skipping(2, 3), skipping(6, 9)}));
  const auto minutes = [&](TicksRequest request) {
    std::vector<std::int64_t> found;
    for (const TickRow& tick : must(store().ticks(request)).ticks) found.push_back(minute_of(tick.tick));
    return found;
  };
  TicksRequest request = asking_for_ticks(100, true);
  EXPECT_EQ(minutes(request), (std::vector<std::int64_t>{10, 5, 4, 1}));
  request.limit = 3;
  EXPECT_EQ(must(store().ticks(request)).next, minute(4));
  request.limit = 4;
  EXPECT_EQ(must(store().ticks(request)).next, std::nullopt);
  request = asking_for_ticks(100);
  request.after = minute(1);
  request.before = minute(6);
  EXPECT_EQ(minutes(request), (std::vector<std::int64_t>{5, 4, 2}))
      << "neither of the two, and a range by its first tick";
  request.after = minute(2);
  EXPECT_EQ(minutes(request), (std::vector<std::int64_t>{5, 4}));
  request.before = minute(3);
  EXPECT_TRUE(minutes(request).empty());
}

TEST_P(ScheduleConformance, AScheduleThatNobodyKnowsHasNoHistory) {
  added_schedule();
  EXPECT_TRUE(history("never").empty());
  TicksRequest request = asking_for_ticks(10);
  request.ns = "never";
  EXPECT_TRUE(must(store().ticks(request)).ticks.empty());
  request.ns = "a b";
  EXPECT_EQ(code_of(store().ticks(request)), Code::invalid);
  request = asking_for_ticks(10);
  request.schedule = "a b";
  EXPECT_EQ(code_of(store().ticks(request)), Code::invalid);
  EXPECT_EQ(code_of(store().ticks(asking_for_ticks(0))), Code::invalid);
  EXPECT_EQ(code_of(store().ticks(asking_for_ticks(1001))), Code::invalid);
}

}  // namespace
}  // namespace fenceline::test
