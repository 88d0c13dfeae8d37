#include "model/tick_rule.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "model/job.hpp"
#include "model/time_zone.hpp"
#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono;
using test::code_of;
using test::must;
using Texts = std::vector<std::string>;

WallTime utc(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return sys_days{year{y} / m / d} + hours{h} + minutes{min};
}

// The ticks later than `after` and not later than `until`, as the clocks there show them; next, last and count agree on
// them.
Texts ticks(std::string_view expression, std::string_view zone, WallTime after, WallTime until) {
  const TickRule rule = must(TickRule::cron(expression, zone));
  Texts texts;
  std::optional<WallTime> last;
  for (std::optional<WallTime> tick = rule.next(after); tick && *tick <= until; tick = rule.next(*tick)) {
    texts.push_back(local_text(*tick, zone));
    EXPECT_EQ(rule.last(after, *tick), tick);
    EXPECT_EQ(rule.last(after, *tick - Duration{1}), last);
    last = tick;
    EXPECT_EQ(rule.count(after, *tick), static_cast<std::int64_t>(texts.size()));
  }
  EXPECT_EQ(rule.last(after, until), last);
  EXPECT_EQ(rule.count(after, until), static_cast<std::int64_t>(texts.size()));
  return texts;
}

TEST(TickRule, TheNextTickIsStrictlyLater) {
  const TickRule rule = must(TickRule::cron("0 12 * * *", "UTC"));
  EXPECT_EQ(rule.next(utc(2026, 1, 1, 12) - Duration{1}), utc(2026, 1, 1, 12));
  EXPECT_EQ(rule.next(utc(2026, 1, 1, 12)), utc(2026, 1, 2, 12));
  EXPECT_EQ(rule.next(utc(2026, 1, 1, 12) + Duration{1}), utc(2026, 1, 2, 12));
}

TEST(TickRule, TheLastTickIsAtTheEndAtTheLatestAndAfterTheBegin) {
  const TickRule rule = must(TickRule::cron("0 12 * * *", "UTC"));
  EXPECT_EQ(rule.last(utc(2026, 1, 1), utc(2026, 1, 3, 12)), utc(2026, 1, 3, 12));
  EXPECT_EQ(rule.last(utc(2026, 1, 1), utc(2026, 1, 3, 12) - Duration{1}), utc(2026, 1, 2, 12));
  EXPECT_EQ(rule.last(utc(2026, 1, 2, 12), utc(2026, 1, 3, 12) - Duration{1}), std::nullopt);
  EXPECT_EQ(rule.last(utc(2026, 1, 2, 12) - Duration{1}, utc(2026, 1, 2, 12)), utc(2026, 1, 2, 12));
  EXPECT_EQ(rule.last(utc(2026, 1, 5), utc(2026, 1, 1)), std::nullopt);
  EXPECT_EQ(rule.count(utc(2026, 1, 5), utc(2026, 1, 1)), 0);
}

TEST(TickRule, S3_NamedHoursRunOnceAtAGapsEnd) {
  const WallTime after = utc(2026, 3, 28, 0), until = utc(2026, 3, 30, 12);
  EXPECT_EQ(ticks("30 2 * * *", "Europe/Berlin", after, until),
            (Texts{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}));
  EXPECT_EQ(ticks("*/20 2 29 3 *", "Europe/Berlin", after, until), (Texts{"2026-03-29T03:00:00+02:00"}));
  EXPECT_EQ(ticks("0,30 2-3 29 3 *", "Europe/Berlin", after, until),
            (Texts{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"}));
  EXPECT_EQ(ticks("30 0-23/2 29 3 *", "Europe/Berlin", after, utc(2026, 3, 29, 4)),
            (Texts{"2026-03-29T00:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:30:00+02:00"}));
  EXPECT_EQ(ticks("0 3 29 3 *", "Europe/Berlin", after, until), (Texts{"2026-03-29T03:00:00+02:00"}));
  EXPECT_EQ(ticks("30 1,4 29 3 *", "Europe/Berlin", after, until),
            (Texts{"2026-03-29T01:30:00+01:00", "2026-03-29T04:30:00+02:00"}));
  EXPECT_EQ(ticks("30 2 * * *", "America/New_York", utc(2026, 3, 8), utc(2026, 3, 9)),
            (Texts{"2026-03-08T03:00:00-04:00"}));
  EXPECT_EQ(ticks("15 2 4 10 *", "Australia/Lord_Howe", utc(2026, 10, 1), utc(2026, 10, 5)),
            (Texts{"2026-10-04T02:30:00+11:00"}));
  EXPECT_EQ(ticks("45 2 4 10 *", "Australia/Lord_Howe", utc(2026, 10, 1), utc(2026, 10, 5)),
            (Texts{"2026-10-04T02:45:00+11:00"}));
  EXPECT_EQ(ticks("15 2 26 3 *", "Africa/Casablanca", utc(2017, 3, 25), utc(2017, 3, 27)),
            (Texts{"2017-03-26T03:00:00+01:00"}));
}

TEST(TickRule, S3_NamedHoursRunAtTheFirstOfARepeatedHour) {
  const WallTime after = utc(2026, 10, 24, 12), until = utc(2026, 10, 25, 12);
  EXPECT_EQ(ticks("30 2 * * *", "Europe/Berlin", after, until), (Texts{"2026-10-25T02:30:00+02:00"}));
  EXPECT_EQ(ticks("0 2 * * *", "Europe/Berlin", after, until), (Texts{"2026-10-25T02:00:00+02:00"}));
  EXPECT_EQ(ticks("0 3 * * *", "Europe/Berlin", after, until), (Texts{"2026-10-25T03:00:00+01:00"}));
  EXPECT_EQ(ticks("*/30 1-3 25 10 *", "Europe/Berlin", after, until),
            (Texts{"2026-10-25T01:00:00+02:00", "2026-10-25T01:30:00+02:00", "2026-10-25T02:00:00+02:00",
                   "2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00"}));
  EXPECT_EQ(ticks("30 1 * * *", "America/New_York", utc(2026, 11, 1), utc(2026, 11, 2)),
            (Texts{"2026-11-01T01:30:00-04:00"}));
  EXPECT_EQ(ticks("45 1 * * *", "Australia/Lord_Howe", utc(2026, 4, 4), utc(2026, 4, 5)),
            (Texts{"2026-04-05T01:45:00+11:00"}));
  EXPECT_EQ(ticks("15 1 * * *", "Australia/Lord_Howe", utc(2026, 4, 4), utc(2026, 4, 5)),
            (Texts{"2026-04-05T01:15:00+11:00"}));
}

TEST(TickRule, S3_AStarHourHasNothingInAGapAndBothTimesInARepeatedHour) {
  EXPECT_EQ(ticks("30 * * * *", "Europe/Berlin", utc(2026, 3, 29, 0), utc(2026, 3, 29, 2)),
            (Texts{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"}));
  EXPECT_EQ(ticks("30 */2 * * *", "Europe/Berlin", utc(2026, 3, 28, 22), utc(2026, 3, 29, 3)),
            (Texts{"2026-03-29T00:30:00+01:00", "2026-03-29T04:30:00+02:00"}));
  EXPECT_EQ(ticks("30 * * * *", "Europe/Berlin", utc(2026, 10, 25, 0), utc(2026, 10, 25, 2)),
            (Texts{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"}));
  EXPECT_EQ(ticks("0 */2 * * *", "Europe/Berlin", utc(2026, 10, 24, 23), utc(2026, 10, 25, 3)),
            (Texts{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T04:00:00+01:00"}));
  EXPECT_EQ(ticks("*/30 * * * *", "Australia/Lord_Howe", utc(2026, 4, 4, 14), utc(2026, 4, 4, 15, 30)),
            (Texts{"2026-04-05T01:30:00+11:00", "2026-04-05T01:30:00+10:30", "2026-04-05T02:00:00+10:30"}));
  EXPECT_EQ(ticks("*/15 * * * *", "Australia/Lord_Howe", utc(2026, 10, 3, 15), utc(2026, 10, 3, 15, 45)),
            (Texts{"2026-10-04T01:45:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-04T02:45:00+11:00"}));
  // An elapsed minute is a minute, whatever the clocks do.
  EXPECT_EQ(must(TickRule::cron("* * * * *", "Europe/Berlin")).count(utc(2026, 3, 28, 23), utc(2026, 3, 29, 22)),
            23 * 60);
  EXPECT_EQ(must(TickRule::cron("* * * * *", "Europe/Berlin")).count(utc(2026, 10, 24, 22), utc(2026, 10, 25, 23)),
            25 * 60);
}

TEST(TickRule, S3_AGapAtMidnightStillHasItsDay) {
  EXPECT_EQ(ticks("0 0 * * *", "Asia/Beirut", utc(2026, 3, 28), utc(2026, 3, 30)),
            (Texts{"2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"}));
  EXPECT_EQ(ticks("@daily", "America/Sao_Paulo", utc(2018, 11, 3, 12), utc(2018, 11, 5, 12)),
            (Texts{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}));
  EXPECT_EQ(ticks("0 0 * * SUN", "America/Sao_Paulo", utc(2018, 10, 29), utc(2018, 11, 10)),
            (Texts{"2018-11-04T01:00:00-02:00"}));
  // The hour before midnight comes twice, midnight once.
  EXPECT_EQ(ticks("30 23 * * *", "America/Sao_Paulo", utc(2019, 2, 16, 12), utc(2019, 2, 17, 12)),
            (Texts{"2019-02-16T23:30:00-02:00"}));
  EXPECT_EQ(ticks("0 0 * * *", "America/Sao_Paulo", utc(2019, 2, 16, 12), utc(2019, 2, 17, 12)),
            (Texts{"2019-02-17T00:00:00-03:00"}));
  EXPECT_EQ(ticks("0 0 * * *", "Asia/Beirut", utc(2026, 10, 24, 12), utc(2026, 10, 25, 12)),
            (Texts{"2026-10-25T00:00:00+02:00"}));
  EXPECT_EQ(ticks("30 * 24 10 *", "Asia/Beirut", utc(2026, 10, 24, 20), utc(2026, 10, 25, 12)),
            (Texts{"2026-10-24T23:30:00+03:00", "2026-10-24T23:30:00+02:00"}));
}

TEST(TickRule, S3_ADayThatWasLeftOutIsOneTickAtItsEnd) {
  const WallTime after = utc(2011, 12, 29, 12), until = utc(2011, 12, 31, 11);
  EXPECT_EQ(ticks("0 12 * * *", "Pacific/Apia", after, until),
            (Texts{"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}));
  EXPECT_EQ(ticks("0 6,12,18 30 12 *", "Pacific/Apia", after, until), (Texts{"2011-12-31T00:00:00+14:00"}));
  EXPECT_EQ(ticks("0 0 * * *", "Pacific/Apia", after, until),
            (Texts{"2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"}));
  EXPECT_EQ(ticks("0 */12 30 12 *", "Pacific/Apia", after, until), (Texts{}));
}

TEST(TickRule, S3_TheRulesHoldIn2099AsWell) {
  EXPECT_EQ(ticks("30 2 * * *", "Europe/Berlin", utc(2099, 3, 28, 12), utc(2099, 3, 29, 12)),
            (Texts{"2099-03-29T03:00:00+02:00"}));
  EXPECT_EQ(ticks("30 1 * * *", "America/New_York", utc(2099, 11, 1), utc(2099, 11, 2)),
            (Texts{"2099-11-01T01:30:00-04:00"}));
  EXPECT_EQ(must(TickRule::cron("0 0 1 1 *", "Europe/Berlin")).next(utc(2038, 1, 19, 4)), utc(2038, 12, 31, 23));
}

TEST(TickRule, SecondsAreTicksOfTheirOwn) {
  const TickRule rule = must(TickRule::cron("*/10 30 2 * * *", "Europe/Berlin"));
  EXPECT_EQ(rule.count(utc(2026, 3, 27), utc(2026, 3, 28)), 6);
  EXPECT_EQ(rule.count(utc(2026, 3, 28, 12), utc(2026, 3, 29, 12)), 1);
  EXPECT_EQ(rule.next(utc(2026, 3, 27, 1, 30)), utc(2026, 3, 27, 1, 30) + seconds{10});
}

TEST(TickRule, RareDaysAreFoundAndTheSearchEnds) {
  EXPECT_EQ(must(TickRule::cron("0 0 29 2 *", "UTC")).next(utc(2096, 3, 1)), utc(2104, 2, 29));
  EXPECT_EQ(must(TickRule::cron("0 0 29 2 */7", "UTC")).next(utc(2026, 1, 1)), utc(2032, 2, 29));
  EXPECT_EQ(must(TickRule::cron("0 0 29 2 */7", "UTC")).next(utc(2032, 3, 1)), utc(2060, 2, 29));
  EXPECT_EQ(must(TickRule::cron("0 0 29 2 */7", "UTC")).last(utc(1971, 1, 1), utc(2032, 2, 28)), utc(2004, 2, 29));
  const TickRule rare = must(TickRule::cron("0 0 29 2 *", "Europe/Berlin"));
  EXPECT_EQ(rare.next(utc(2196, 3, 1)), std::nullopt);
  EXPECT_EQ(rare.last(utc(2196, 3, 1), WallTime::max()), std::nullopt);
}

TEST(TickRule, NoTickLiesBefore1970OrAfterTheLastMoment) {
  for (const TickRule& rule :
       {must(TickRule::cron("0 0 * * *", "UTC")), must(TickRule::every(days{1}, utc(2026, 1, 1)))}) {
    EXPECT_EQ(rule.next(WallTime::min()), WallTime{});
    EXPECT_EQ(rule.next(kRunAtMost - Duration{1}), kRunAtMost);
    EXPECT_EQ(rule.next(kRunAtMost), std::nullopt);
    EXPECT_EQ(rule.next(WallTime::max()), std::nullopt);
    EXPECT_EQ(rule.last(WallTime::min(), WallTime::max()), kRunAtMost);
    EXPECT_EQ(rule.last(WallTime::min(), WallTime{}), WallTime{});
    EXPECT_EQ(rule.last(WallTime::min(), WallTime{} - Duration{1}), std::nullopt);
    EXPECT_EQ(rule.count(WallTime::min(), WallTime::max()), (kRunAtMost - WallTime{}) / days{1} + 1);
    EXPECT_EQ(rule.count(WallTime::max(), WallTime::min()), 0);
    EXPECT_EQ(rule.last(WallTime::max(), WallTime::min()), std::nullopt);
  }
}

// It would take hours if ticks were visited one by one.
TEST(TickRule, S2_CountingDoesNotVisitTheTicks) {
  const TickRule rule = must(TickRule::cron("* * * * * *", "Europe/Berlin"));
  EXPECT_EQ(rule.count(utc(2026, 3, 1), utc(2026, 3, 31)), 30 * 86'400);
  const WallTime after = utc(2026, 1, 1), until = utc(2196, 1, 1);
  for (int round = 0; round < 20; ++round) EXPECT_EQ(rule.count(after, until), (until - after) / seconds{1});
  EXPECT_EQ(must(TickRule::cron("* * 0-23 * * *", "Europe/Berlin")).count(utc(2026, 1, 1), utc(2027, 1, 1)),
            365 * 86'400 - 3'600);
}

TEST(TickRule, S3_AnIntervalFollowsElapsedTimeFromItsAnchor) {
  const WallTime anchor = utc(2026, 3, 29, 0, 30) + Duration{250};
  const TickRule rule = must(TickRule::every(minutes{90}, anchor));
  EXPECT_EQ(rule.next(anchor), anchor + minutes{90});
  EXPECT_EQ(rule.next(anchor - Duration{1}), anchor);
  EXPECT_EQ(rule.next(anchor - minutes{90}), anchor);
  EXPECT_EQ(rule.next(anchor - minutes{90} - Duration{1}), anchor - minutes{90});
  EXPECT_EQ(rule.last(anchor - hours{3}, anchor - Duration{1}), anchor - minutes{90});
  EXPECT_EQ(rule.last(anchor - minutes{90}, anchor - Duration{1}), std::nullopt);
  EXPECT_EQ(rule.last(anchor, anchor + hours{24}), anchor + hours{24});
  EXPECT_EQ(rule.count(anchor - hours{3}, anchor + hours{3}), 4);
  EXPECT_EQ(rule.count(anchor - hours{3} - Duration{1}, anchor + hours{3} - Duration{1}), 4);
  EXPECT_EQ(rule.count(anchor, anchor + Duration{1}), 0);
  EXPECT_EQ(rule.zone(), "UTC");
  EXPECT_EQ(rule.text(), "every 90m from 2026-03-29T00:30:00.000250Z");
}

TEST(TickRule, AnIntervalIsOneSecondTo366DaysInWholeSeconds) {
  EXPECT_TRUE(TickRule::every(seconds{1}, WallTime{}));
  EXPECT_TRUE(TickRule::every(days{366}, kRunAtMost));
  for (const Duration interval : {Duration{0}, Duration{-1'000'000}, Duration{999'999}, Duration{1'500'000},
                                  Duration{days{366}} + seconds{1}, Duration::max(), Duration::min()})
    EXPECT_EQ(code_of(TickRule::every(interval, WallTime{})), Code::invalid) << interval.count();
  for (const WallTime anchor : {WallTime{} - Duration{1}, kRunAtMost + Duration{1}, WallTime::min(), WallTime::max()})
    EXPECT_EQ(code_of(TickRule::every(seconds{1}, anchor)), Code::invalid);
}

TEST(TickRule, RulesCompareByTheirText) {
  const TickRule rule = must(TickRule::cron("0 0 * * *", "Europe/Berlin"));
  const TickRule copy = rule;
  EXPECT_EQ(copy, rule);
  EXPECT_EQ(must(TickRule::cron("0 0 * * *", "Europe/Berlin")), rule);
  EXPECT_NE(must(TickRule::cron("0 0 * * *", "UTC")), rule);
  EXPECT_NE(must(TickRule::cron("0 1 * * *", "Europe/Berlin")), rule);
  EXPECT_EQ(must(TickRule::every(seconds{5}, utc(2026, 1, 1))), must(TickRule::every(seconds{5}, utc(2026, 1, 1))));
  EXPECT_NE(must(TickRule::every(seconds{5}, utc(2026, 1, 1))),
            must(TickRule::every(seconds{5}, utc(2026, 1, 1) + Duration{1})));
  EXPECT_EQ(rule.zone(), "Europe/Berlin");
  EXPECT_EQ(must(TickRule::cron("0 0 * * *", "")).zone(), "UTC");
  EXPECT_EQ(rule.text(), "0 0 * * *");
}

TEST(TickRule, AWrongExpressionOrZoneIsRefusedInItsOwnWords) {
  EXPECT_EQ(TickRule::cron("61 * * * *", "UTC").error().message,
            "cron expression '61 * * * *': field 1 (minute): '61' is out of range; allowed: 0-59, *, lists (0,30), "
            "ranges (10-20) and steps (*/15)");
  EXPECT_EQ(TickRule::cron("* * * * *", "Europe/Berln").error().message,
            "unknown time zone 'Europe/Berln'; did you mean Europe/Berlin?");
}

}  // namespace
}  // namespace fenceline
