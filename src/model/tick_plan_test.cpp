#include "model/tick_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::sys_days;

constexpr WallTime kPlanNow = sys_days{std::chrono::year{2026} / 11 / 16} + 10h;

TickRule rule(const ScheduleSpec& spec) { return rule_of(spec).value(); }

ScheduleSpec every(Duration interval, CatchUp catch_up = CatchUp::latest, Overlap overlap = Overlap::allow) {
  ScheduleSpec spec;
  spec.every = interval;
  spec.catch_up = catch_up;
  spec.overlap = overlap;
  spec.queue = "q";
  return spec;
}

TickPlan plan(const ScheduleSpec& spec, PlanFacts facts) { return plan_ticks(spec, rule(spec), facts); }

std::int64_t skipped(const TickPlan& plan) {
  std::int64_t count = 0;
  for (const SkippedTicks& range : plan.skip) count += range.count;
  return count;
}

TEST(TickPlan, NothingIsOpenBetweenTwoTicks) {
  const TickPlan empty = plan(every(1h), {.resolved_to = kPlanNow, .now = kPlanNow + 59min});
  EXPECT_FALSE(empty.to);
  EXPECT_TRUE(empty.fire.empty() && empty.skip.empty());
}

TEST(TickPlan, S2_ATickOfThisMomentFiresUnderEveryCatchUp) {
  for (const CatchUp catch_up : {CatchUp::all, CatchUp::latest, CatchUp::none}) {
    for (const Duration late : {Duration{0}, Duration{1min}}) {
      const TickPlan made = plan(every(1h, catch_up), {.resolved_to = kPlanNow - 1h, .now = kPlanNow + late});
      EXPECT_EQ(made.fire, std::vector{kPlanNow});
      EXPECT_EQ(made.to, kPlanNow);
      EXPECT_TRUE(made.skip.empty());
    }
  }
}

TEST(TickPlan, S2_LateTicksEndAsTheCatchUpSays) {
  const PlanFacts facts{.resolved_to = kPlanNow - 5h, .now = kPlanNow + 30min};
  const TickPlan all = plan(every(1h, CatchUp::all), facts);
  EXPECT_EQ(all.fire, (std::vector{kPlanNow - 4h, kPlanNow - 3h, kPlanNow - 2h, kPlanNow - 1h, kPlanNow}));
  const TickPlan latest = plan(every(1h, CatchUp::latest), facts);
  EXPECT_EQ(latest.fire, std::vector{kPlanNow});
  EXPECT_EQ(latest.skip, (std::vector<SkippedTicks>{{kPlanNow - 4h, kPlanNow - 1h, 4, "superseded"}}));
  const TickPlan none = plan(every(1h, CatchUp::none), facts);
  EXPECT_TRUE(none.fire.empty());
  EXPECT_EQ(none.skip, (std::vector<SkippedTicks>{{kPlanNow - 4h, kPlanNow, 5, "missed"}}));
  EXPECT_EQ(none.to, kPlanNow);
}

TEST(TickPlan, S2_ALateTickDoesNotFireBesideOneThatIsOnTime) {
  const TickPlan made = plan(every(1h), {.resolved_to = kPlanNow - 3h, .now = kPlanNow + 5s});
  EXPECT_EQ(made.fire, std::vector{kPlanNow});
  EXPECT_EQ(made.skip, (std::vector<SkippedTicks>{{kPlanNow - 2h, kPlanNow - 1h, 2, "superseded"}}));
}

TEST(TickPlan, S2_TheWindowAndTheCapBoundWhatFires) {
  ScheduleSpec spec = every(1h, CatchUp::all);
  spec.window = 10h;
  spec.cap = 3;
  const TickPlan made = plan(spec, {.resolved_to = kPlanNow - 24h, .now = kPlanNow + 1min + 1s});
  EXPECT_EQ(made.fire, (std::vector{kPlanNow - 2h, kPlanNow - 1h, kPlanNow}));
  EXPECT_EQ(made.skip, (std::vector<SkippedTicks>{{kPlanNow - 23h, kPlanNow - 10h, 14, "window"},
                                                  {kPlanNow - 9h, kPlanNow - 3h, 7, "cap"}}));
}

TEST(TickPlan, StartAndEndBelongToTheSchedule) {
  ScheduleSpec spec = every(1h, CatchUp::all);
  spec.starts = kPlanNow - 3h;
  spec.ends = kPlanNow - 1h;
  EXPECT_EQ(plan(spec, {.resolved_to = kPlanNow - 24h, .now = kPlanNow + 5h}).fire,
            (std::vector{kPlanNow - 3h, kPlanNow - 2h, kPlanNow - 1h}));
  EXPECT_EQ(next_tick(spec, rule(spec), kPlanNow - 24h), kPlanNow - 3h);
  EXPECT_EQ(next_tick(spec, rule(spec), kPlanNow - 1h), std::nullopt);
}

TEST(TickPlan, S1_ATickThatFiredBeforeTheAccountWasMovedBackIsNeitherFiredNorSkippedAgain) {
  PlanFacts facts{.resolved_to = kPlanNow - 5h, .now = kPlanNow + 30min, .fired = {kPlanNow - 3h, kPlanNow}};
  const TickPlan none = plan(every(1h, CatchUp::none), facts);
  EXPECT_EQ(none.skip, (std::vector<SkippedTicks>{{kPlanNow - 4h, kPlanNow - 4h, 1, "missed"},
                                                  {kPlanNow - 2h, kPlanNow - 1h, 2, "missed"}}));
  EXPECT_EQ(none.to, kPlanNow) << "the account moves over what fired";
  facts.fired = {kPlanNow - 4h, kPlanNow - 3h, kPlanNow - 2h, kPlanNow - 1h, kPlanNow};
  const TickPlan over = plan(every(1h, CatchUp::all), facts);
  EXPECT_EQ(over.to, kPlanNow);
  EXPECT_TRUE(over.fire.empty() && over.skip.empty());
}

TEST(TickPlan, ARangeIsCutAtATickOfAnEarlierRuleToo) {
  const TickPlan none = plan(every(1h, CatchUp::none),
                             {.resolved_to = kPlanNow - 3h, .now = kPlanNow + 30min, .fired = {kPlanNow - 90min}});
  EXPECT_EQ(none.skip, (std::vector<SkippedTicks>{{kPlanNow - 2h, kPlanNow - 2h, 1, "missed"},
                                                  {kPlanNow - 1h, kPlanNow, 2, "missed"}}));
}

TEST(TickPlan, SkipFiresNothingBesideAnUnfinishedJobAndOneTickOtherwise) {
  PlanFacts facts{.resolved_to = kPlanNow - 3s, .now = kPlanNow};
  const TickPlan free = plan(every(1s, CatchUp::all, Overlap::skip), facts);
  EXPECT_EQ(free.fire, std::vector{kPlanNow});
  EXPECT_EQ(free.skip, (std::vector<SkippedTicks>{{kPlanNow - 2s, kPlanNow - 1s, 2, "overlap"}}));
  facts.unfinished_waiting = 1;
  const TickPlan busy = plan(every(1s, CatchUp::all, Overlap::skip), facts);
  EXPECT_TRUE(busy.fire.empty());
  EXPECT_EQ(busy.skip, (std::vector<SkippedTicks>{{kPlanNow - 2s, kPlanNow, 3, "overlap"}}));
}

TEST(TickPlan, QueueOneLetsOneRunAndOneWait) {
  const auto fires = [](int waiting, int running) {
    const TickPlan made = plan(
        every(1s, CatchUp::all, Overlap::queue_one),
        {.resolved_to = kPlanNow - 3s, .now = kPlanNow, .unfinished_waiting = waiting, .unfinished_running = running});
    EXPECT_EQ(static_cast<std::int64_t>(made.fire.size()) + skipped(made), 3);
    return made.fire.size();
  };
  EXPECT_EQ(fires(0, 0), 1U);
  EXPECT_EQ(fires(0, 1), 1U);
  EXPECT_EQ(fires(1, 0), 0U);
  EXPECT_EQ(fires(1, 1), 0U);
  EXPECT_EQ(fires(0, 2), 0U);
}

TEST(TickPlan, CancelRunningFiresTheNewestAndCancelsOnlyForATickThatFires) {
  PlanFacts facts{.resolved_to = kPlanNow - 3s, .now = kPlanNow, .unfinished_running = 1};
  const TickPlan made = plan(every(1s, CatchUp::all, Overlap::cancel_running), facts);
  EXPECT_EQ(made.fire, std::vector{kPlanNow});
  EXPECT_EQ(made.skip, (std::vector<SkippedTicks>{{kPlanNow - 2s, kPlanNow - 1s, 2, "overlap"}}));
  EXPECT_TRUE(made.cancel_unfinished);
  facts.now = kPlanNow + 2h;
  ScheduleSpec hourly = every(1h, CatchUp::none, Overlap::cancel_running);
  facts.resolved_to = kPlanNow;
  facts.now = kPlanNow + 90min;
  EXPECT_FALSE(plan(hourly, facts).cancel_unfinished);
}

TEST(TickPlan, APauseLeavesOneRangeBehind) {
  const ScheduleSpec spec = every(1h);
  const TickPlan made =
      skip_ticks(spec, rule(spec), {.resolved_to = kPlanNow - 48h, .now = kPlanNow, .fired = {kPlanNow}}, "paused");
  EXPECT_EQ(made.skip, (std::vector<SkippedTicks>{{kPlanNow - 47h, kPlanNow - 1h, 47, "paused"}}));
  EXPECT_EQ(made.to, kPlanNow);
}

// A month of seconds, and two centuries of them, are planned at once: if ticks were looked at one by one the second
// would take hours.
TEST(TickPlan, S2_WorkIsBoundedHoweverLongNobodyWasThere) {
  for (const CatchUp catch_up : {CatchUp::all, CatchUp::latest, CatchUp::none}) {
    ScheduleSpec seconds = every(1s, catch_up);
    ScheduleSpec cron = seconds;
    cron.every = Duration{0};
    cron.cron = "* * * * * *";
    cron.zone = "Europe/Berlin";
    for (const ScheduleSpec& spec : {seconds, cron}) {
      const TickPlan month = plan(spec, {.resolved_to = kPlanNow - days{30}, .now = kPlanNow});
      EXPECT_EQ(static_cast<std::int64_t>(month.fire.size()) + skipped(month), 30 * 86'400);
      const TickPlan centuries = plan(spec, {.resolved_to = kPlanNow, .now = kRunAtMost});
      EXPECT_EQ(static_cast<std::int64_t>(centuries.fire.size()) + skipped(centuries), (kRunAtMost - kPlanNow) / 1s);
      EXPECT_LE(month.fire.size(), 100U);
      EXPECT_LE(month.skip.size(), 4U);
    }
  }
}

// What the header says, with sets and loops.
struct Naive {
  std::vector<WallTime> fire;
  std::map<WallTime, std::string> reasons;
  std::set<WallTime> open;
};

Naive naively(const ScheduleSpec& spec, const TickRule& rule, const PlanFacts& facts) {
  Naive naive;
  for (auto tick = next_tick(spec, rule, facts.resolved_to); tick && *tick <= facts.now;
       tick = next_tick(spec, rule, *tick)) {
    if (!std::ranges::count(facts.fired, *tick)) naive.open.insert(*tick);
  }
  std::vector<WallTime> on_time, late;
  for (const WallTime tick : naive.open) {
    if (facts.now - tick > spec.window) naive.reasons[tick] = "window";
    else (facts.now - tick > kTickOnTime ? late : on_time).push_back(tick);
  }
  std::vector<WallTime> would;
  if (spec.catch_up == CatchUp::all) would = late;
  if (spec.catch_up == CatchUp::latest && on_time.empty() && !late.empty()) would = {late.back()};
  for (const WallTime tick : late) {
    if (!std::ranges::count(would, tick))
      naive.reasons[tick] = spec.catch_up == CatchUp::none ? "missed" : "superseded";
  }
  would.insert(would.end(), on_time.begin(), on_time.end());
  while (would.size() > static_cast<std::size_t>(spec.cap)) {
    naive.reasons[would.front()] = "cap";
    would.erase(would.begin());
  }
  const int unfinished = facts.unfinished_waiting + facts.unfinished_running;
  int room = 1'000'000;
  if (spec.overlap == Overlap::skip) room = unfinished == 0 ? 1 : 0;
  if (spec.overlap == Overlap::queue_one)
    room = std::clamp(std::min(2 - unfinished, 1 - facts.unfinished_waiting), 0, 2);
  if (spec.overlap == Overlap::cancel_running) room = 1;
  while (would.size() > static_cast<std::size_t>(room)) {
    naive.reasons[would.front()] = "overlap";
    would.erase(would.begin());
  }
  naive.fire = would;
  return naive;
}

TEST(TickPlan, S2_EveryTickEndsOnceAsASlowReadingOfTheRulesSays) {
  std::mt19937_64 random(20261116);
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  const std::vector<std::string> crons{"* * * * *",       "*/7 * * * *",    "30 2 * * *",  "0 1-3 * * *",
                                       "15,45 */2 * * *", "*/20 * * * * *", "0 0 * * 1-5", "@hourly"};
  const std::vector<std::string> zones{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                       "Asia/Kolkata"};
  const std::vector<WallTime> moments{kPlanNow, sys_days{std::chrono::year{2026} / 3 / 29} + 4h,
                                      sys_days{std::chrono::year{2026} / 10 / 25} + 4h,
                                      sys_days{std::chrono::year{2026} / 11 / 1} + 9h};
  std::set<std::string> seen;
  for (int turn = 0; turn < 1000; ++turn) {
    ScheduleSpec spec;
    if (below(3) == 0) spec.every = std::chrono::seconds{1 + below(600)};
    else
      spec.cron = crons[static_cast<std::size_t>(below(crons.size()))],
      spec.zone = zones[static_cast<std::size_t>(below(zones.size()))];
    spec.catch_up = static_cast<CatchUp>(below(3));
    spec.overlap = static_cast<Overlap>(below(4));
    spec.window = std::chrono::minutes{1 + below(600)};
    spec.cap = 1 + below(20);
    PlanFacts facts;
    facts.now = moments[static_cast<std::size_t>(below(moments.size()))] + Duration{random() % 3'600'000'000};
    const Duration back = below(2) == 0 ? Duration{random() % 120'000'000} : Duration{random() % 43'200'000'000};
    facts.resolved_to = facts.now - back;
    if (below(4) == 0) spec.starts = facts.now - Duration{random() % 7'200'000'000};
    if (below(4) == 0) spec.ends = facts.now - Duration{random() % 7'200'000'000};
    facts.unfinished_waiting = below(2);
    facts.unfinished_running = below(3);
    const TickRule ticks = rule(spec);
    if (below(2) == 0) {
      for (auto tick = ticks.next(facts.resolved_to); tick && *tick <= facts.now; tick = ticks.next(*tick)) {
        if (below(5) == 0)
          facts.fired.push_back(below(10) == 0 && *tick + 500ms <= facts.now ? *tick + 500ms
                                                                             : *tick);  // at times one of another rule
      }
    }
    const TickPlan made = plan_ticks(spec, ticks, facts);
    const Naive naive = naively(spec, ticks, facts);
    ASSERT_EQ(made.fire, naive.fire) << turn;
    std::size_t explained = 0;
    WallTime behind = facts.resolved_to;
    for (const SkippedTicks& range : made.skip) {
      ASSERT_GT(range.first, behind) << turn;
      behind = range.last;
      std::int64_t count = 0;
      for (auto open = naive.open.lower_bound(range.first); open != naive.open.end() && *open <= range.last;
           ++open, ++count) {
        ASSERT_EQ(naive.reasons.at(*open), range.reason) << turn;
      }
      ASSERT_EQ(count, range.count) << turn;
      ASSERT_TRUE(naive.open.contains(range.first) && naive.open.contains(range.last)) << turn;
      const auto covered = [&](WallTime tick) { return tick >= range.first && tick <= range.last; };
      ASSERT_TRUE(std::ranges::none_of(facts.fired, covered) && std::ranges::none_of(made.fire, covered)) << turn;
      explained += static_cast<std::size_t>(count);
      seen.insert(range.reason);
    }
    ASSERT_EQ(explained, naive.reasons.size()) << turn;
    ASSERT_EQ(explained + made.fire.size(), naive.open.size()) << turn;
    ASSERT_EQ(made.cancel_unfinished, spec.overlap == Overlap::cancel_running && !made.fire.empty() &&
                                          facts.unfinished_waiting + facts.unfinished_running > 0);
    ASSERT_TRUE(naive.open.empty() || made.to >= *naive.open.rbegin()) << turn;
  }
  EXPECT_EQ(seen, (std::set<std::string>{"cap", "missed", "overlap", "superseded", "window"}));
}

}  // namespace
}  // namespace fenceline
