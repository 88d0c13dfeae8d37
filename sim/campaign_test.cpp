#include "sim/campaign.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/thread_runtime.hpp"

namespace fenceline::sim {
namespace {

TEST(Campaign, PlaysEverySeedOnceAndFindsNothing) {
  ThreadRuntime runtime;
  std::uint64_t last_done = 0;
  const CampaignReport report = run_campaign(
      runtime, {.first_seed = 1, .seeds = 16, .lanes = 1, .progress = [&](std::uint64_t done) { last_done = done; }});
  EXPECT_EQ(report.seeds, 16U);
  EXPECT_EQ(last_done, 16U);
  EXPECT_GT(report.simulated, std::chrono::hours{1});
  for (const FailedSeed& failed : report.failed)
    ADD_FAILURE() << repeat_line(failed) << "\n"
                  << failed.violations.front().promise << ": " << failed.violations.front().sentence;
}

TEST(Campaign, IsTheSameOnOneLaneAndOnTwo) {
  ThreadRuntime runtime;
  const CampaignReport one = run_campaign(runtime, {.seeds = 6, .lanes = 1});
  const CampaignReport two = run_campaign(runtime, {.seeds = 6, .lanes = 2});
  EXPECT_EQ(one.simulated, two.simulated);
  EXPECT_EQ(one.tally.of(Count::operations), two.tally.of(Count::operations));
  EXPECT_EQ(one.tally.faults(), two.tally.faults());
}

TEST(Campaign, StopsWhenAsked) {
  ThreadRuntime runtime;
  std::stop_source stop;
  stop.request_stop();
  const CampaignReport report = run_campaign(runtime, {.seeds = 1'000'000, .stop = stop.get_token()});
  EXPECT_TRUE(report.stopped);
  EXPECT_LT(report.seeds, 3U);
}

TEST(Campaign, NamesWhatNeverHappenedInAScenarioThatOwesIt) {
  CampaignReport report;
  ScenarioReport& own = report.by_scenario["unique-keys"];
  own.seeds = 60;
  const std::size_t owed = find_scenario("unique-keys")->owes.size();
  EXPECT_EQ(missing(report).size(), owed);
  EXPECT_EQ(missing(report).front(), "keys_met in unique-keys");
  own.tally.add(Count::keys_met);
  EXPECT_EQ(missing(report).size(), owed - 1);
  own.seeds = 59;  // too few to say
  EXPECT_TRUE(missing(report).empty());
}

TEST(Campaign, EveryScenarioOwesSomethingThatItIsAbout) {
  for (const Scenario& scenario : scenarios()) EXPECT_GE(scenario.owes.size(), 5U) << scenario.name;
}

TEST(Campaign, WhateverIsCountedIsOwedBySomeScenarioOrByAllOfThem) {
  // Whoever plans a step reads what fired ahead first, so that a tick is hardly ever met again: the stores' own tests
  // do it on purpose.
  std::set<Count> owed{Count::operations, Count::enqueued, Count::claimed, Count::tick_duplicates};
  for (const Scenario& scenario : scenarios()) owed.insert(scenario.owes.begin(), scenario.owes.end());
  for (int i = 0; i < static_cast<int>(Count::count_); ++i)
    EXPECT_TRUE(owed.contains(static_cast<Count>(i))) << to_string(static_cast<Count>(i));
}

TEST(Campaign, TellsHowToRepeatAFailure) {
  EXPECT_EQ(repeat_line({"job-storm", 8841, {}}), "fenceline sim --scenario job-storm --seed 8841");
}

}  // namespace
}  // namespace fenceline::sim
