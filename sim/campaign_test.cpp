#include "sim/campaign.hpp"

#include <gtest/gtest.h>

#include "runtime/thread_runtime.hpp"

namespace fenceline::sim {
namespace {

TEST(Campaign, PlaysEverySeedOnceAndFindsNothing) {
  ThreadRuntime runtime;
  std::uint64_t last_done = 0;
  const CampaignReport report =
      run_campaign(runtime, {.first_seed = 1, .seeds = 16, .lanes = 1, .progress = [&](std::uint64_t done) { last_done = done; }});
  EXPECT_EQ(report.seeds, 16U);
  EXPECT_EQ(last_done, 16U);
  EXPECT_GT(report.simulated, std::chrono::hours{1});
  for (const FailedSeed& failed : report.failed)
    ADD_FAILURE() << repeat_line(failed) << "\n" << failed.violations.front().promise << ": " << failed.violations.front().sentence;
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

TEST(Campaign, NamesWhatNeverHappened) {
  CampaignReport report;
  report.seeds = 100;
  EXPECT_EQ(missing(report).size(), 10U);
  EXPECT_EQ(missing(report).front(), "takeovers");
  for (const Count what : {Count::takeovers, Count::refusals, Count::losses, Count::lost_requests, Count::lost_replies, Count::late_requests,
                           Count::duplicates, Count::kills, Count::pauses, Count::twins})
    report.tally.add(what);
  EXPECT_TRUE(missing(report).empty());
  report.all_scenarios = true;
  EXPECT_EQ(missing(report).front(), "operations");
  EXPECT_EQ(missing(report).back(), "wall_jumps");
  report.seeds = 99;  // too few to say
  EXPECT_TRUE(missing(report).empty());
}

TEST(Campaign, TellsHowToRepeatAFailure) {
  EXPECT_EQ(repeat_line({"job-storm", 8841, {}}), "fenceline sim --scenario job-storm --seed 8841");
}

}  // namespace
}  // namespace fenceline::sim
