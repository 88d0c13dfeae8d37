// Random rules, zones and times: what TickRule computes against what a walk over every minute finds.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "model/tick_rule.hpp"
#include "model/time_zone.hpp"
#include "support/random_cron.hpp"
#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono;
using test::Chance;
using test::must;
using test::random_cron;
using test::RandomCron;

struct Place {
  const char* zone;
  std::vector<sys_days> near;  // days at which its clocks are changed
};

const std::vector<Place>& places() {
  static const std::vector<Place> all{
      {"UTC", {year{2026} / 3 / 1}},
      {"Europe/Berlin", {year{2026} / 3 / 29, year{2026} / 10 / 25, year{2080} / 3 / 31}},
      {"America/New_York", {year{2026} / 3 / 8, year{2026} / 11 / 1}},
      {"Australia/Lord_Howe", {year{2026} / 4 / 5, year{2026} / 10 / 4}},
      {"Asia/Beirut", {year{2026} / 3 / 29, year{2026} / 10 / 25}},
      {"Pacific/Apia", {year{2011} / 12 / 30, year{2012} / 4 / 1}},
      {"America/Sao_Paulo", {year{2018} / 11 / 4, year{2019} / 2 / 17}},
      {"Africa/Casablanca", {year{2018} / 6 / 17, year{2017} / 5 / 21}},
      {"Pacific/Kwajalein", {year{1993} / 8 / 21}},
  };
  return all;
}

// When the clocks first show a time that is named, or a later one; with a star for the hour, whenever they show one. In
// (after, until], minutes only.
std::vector<WallTime> walk(const RandomCron& cron, const TimeZone& zone, sys_seconds after, sys_seconds until) {
  std::vector<WallTime> ticks;
  const sys_seconds start = after - days{3};
  Stretch stretch = zone.at(start);
  local_seconds reached = stretch.local(start);
  for (sys_seconds at = start; at <= until; at += minutes{1}) {
    if (at >= stretch.end) stretch = zone.at(at);
    const local_seconds shown = stretch.local(at);
    bool tick = cron.any_hour && cron.matches(shown);
    for (; !cron.any_hour && reached <= shown; reached += minutes{1}) tick = tick || cron.matches(reached);
    if (tick && at > after) ticks.emplace_back(at);
  }
  return ticks;
}

TEST(TickRuleRandom, S3_TicksAreThoseOfAWalkOverEveryMinute) {
  Chance chance(1);
  int compared = 0, seen = 0;
  while (compared < 500) {
    const RandomCron cron = random_cron(chance, 0);
    const Place& place = places()[static_cast<std::size_t>(chance.between(0, static_cast<int>(places().size()) - 1))];
    const sys_seconds middle =
        place.near[static_cast<std::size_t>(chance.between(0, static_cast<int>(place.near.size()) - 1))];
    const sys_seconds after = middle - minutes{chance.between(0, 2 * 1440)},
                      until = after + minutes{chance.between(1, 3 * 1440)};
    const Result<TickRule> rule = TickRule::cron(cron.text, place.zone);
    if (!rule) continue;
    ++compared;
    const std::vector<WallTime> expected = walk(cron, must(TimeZone::find(place.zone)), after, until);
    std::vector<WallTime> found;
    for (auto tick = rule->next(after); tick && *tick <= until; tick = rule->next(*tick)) found.push_back(*tick);
    seen += static_cast<int>(found.size());
    ASSERT_EQ(found, expected) << cron.text << " in " << place.zone << " after " << local_text(after, place.zone)
                               << " until " << local_text(until, place.zone);
    ASSERT_EQ(rule->count(after, until), static_cast<std::int64_t>(expected.size())) << cron.text;
    ASSERT_EQ(rule->last(after, until), expected.empty() ? std::nullopt : std::optional(expected.back())) << cron.text;
  }
  EXPECT_GT(seen, 1000);
}

// Over years: the next ones, the last ones backwards and the count are the same ticks.
TEST(TickRuleRandom, S2_NextLastAndCountAgree) {
  Chance chance(2);
  int compared = 0;
  std::int64_t seen = 0;
  while (compared < 300) {
    const RandomCron cron = random_cron(chance, 3);
    const Place& place = places()[static_cast<std::size_t>(chance.between(0, static_cast<int>(places().size()) - 1))];
    const Result<TickRule> rule = TickRule::cron(cron.text, place.zone);
    if (!rule) continue;
    ++compared;
    const WallTime after =
        place.near.front() - days{chance.between(0, 3000)} + milliseconds{chance.between(0, 86'400'000)};
    std::vector<WallTime> forwards, backwards;
    for (auto tick = rule->next(after); tick && forwards.size() < 100; tick = rule->next(*tick))
      forwards.push_back(*tick);
    if (forwards.empty()) continue;
    const WallTime until = forwards.back() + milliseconds{chance.between(0, 999)};
    ASSERT_EQ(rule->count(after, until), static_cast<std::int64_t>(forwards.size()))
        << cron.text << " in " << place.zone;
    for (auto tick = rule->last(after, until); tick; tick = rule->last(after, *tick - Duration{1}))
      backwards.insert(backwards.begin(), *tick);
    ASSERT_EQ(backwards, forwards) << cron.text << " in " << place.zone;
    // Counts add up, wherever a time is cut.
    const WallTime far = until + days{chance.between(1, 30'000)}, cut = after + (far - after) / chance.between(1, 50);
    ASSERT_EQ(rule->count(after, cut) + rule->count(cut, far), rule->count(after, far))
        << cron.text << " in " << place.zone;
    seen += rule->count(after, far);
  }
  EXPECT_GT(seen, 1'000'000);
}

// A refusal for a day that never comes is right: no day of 28 years matches.
TEST(TickRuleRandom, OnlyWhatNeverComesIsRefused) {
  Chance chance(3);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const RandomCron cron = random_cron(chance, 0);
    const Result<TickRule> rule = TickRule::cron(cron.text, "UTC");
    if (rule) continue;
    ++refused;
    ASSERT_NE(rule.error().message.find("field 3 (day of month): "), std::string::npos) << rule.error().message;
    const minutes time = hours{*cron.named[2].begin()} + minutes{*cron.named[1].begin()};
    for (local_days day{year{2000} / 1 / 1}; day < local_days{year{2028} / 1 / 1}; day += days{1})
      ASSERT_FALSE(cron.matches(day + time)) << cron.text;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace fenceline
