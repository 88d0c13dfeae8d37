#include "sim/scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <cctype>

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
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const SeedReport report = play(scenario(), seed, stacks);
    EXPECT_TRUE(report.violations.empty()) << "seed " << seed << "\n" << told(report);
  }
}

TEST_P(EveryScenario, TellsTheSameStoryForTheSameSeed) {
  for (const std::uint64_t seed : {5U, 3U * static_cast<unsigned>(scenarios().size())}) {  // memory and SQLite
    const SeedReport first = play(scenario(), seed, stacks, {.tracing = true});
    const SeedReport second = play(scenario(), seed, stacks, {.tracing = true});
    EXPECT_FALSE(first.trace.empty());
    EXPECT_TRUE(first.trace == second.trace);
    // Whether it is told must not change the story.
    EXPECT_EQ(play(scenario(), seed, stacks).tally.of(Count::operations), first.tally.of(Count::operations));
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Scenario& scenario : scenarios()) all.emplace_back(scenario.name);
  return all;
}

// "lost-wakeups" is no name for a test, "LostWakeups" is.
std::string test_name(const testing::TestParamInfo<std::string>& chosen) {
  std::string name;
  bool upper = true;
  for (const char c : chosen.param) {
    if (c != '-') name += static_cast<char>(upper ? std::toupper(static_cast<unsigned char>(c)) : c);
    upper = c == '-';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sim, EveryScenario, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace fenceline::sim
