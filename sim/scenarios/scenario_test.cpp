#include "sim/scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace fenceline::sim {
namespace {

std::string told(const SeedReport& report) {
  std::string text;
  for (const Violation& violation : report.violations) text += violation.promise + ": " + violation.sentence + "\n";
  return text;
}

class EveryScenario : public testing::TestWithParam<std::string> {
 protected:
  const Scenario& scenario() const { return *find_scenario(GetParam()); }
  StackPool stacks;
};

TEST_P(EveryScenario, KeepsAllPromisesOverAFewSeeds) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const SeedReport report = play(scenario(), seed, stacks);
    EXPECT_TRUE(report.violations.empty()) << "seed " << seed << "\n" << told(report);
  }
}

TEST_P(EveryScenario, TellsTheSameStoryForTheSameSeed) {
  for (const std::uint64_t seed : {5, 7}) {  // memory and SQLite
    const SeedReport first = play(scenario(), seed, stacks, {.tracing = true});
    const SeedReport second = play(scenario(), seed, stacks, {.tracing = true});
    EXPECT_FALSE(first.trace.empty());
    EXPECT_TRUE(first.trace == second.trace);
    // Whether it is told must not change the story.
    EXPECT_EQ(play(scenario(), seed, stacks).tally.of(Count::operations), first.tally.of(Count::operations));
  }
}

INSTANTIATE_TEST_SUITE_P(Sim, EveryScenario, testing::Values("lease-expiry", "job-storm"),
                         [](const auto& chosen) { return chosen.param == "job-storm" ? "JobStorm" : "LeaseExpiry"; });

}  // namespace
}  // namespace fenceline::sim
