#include "sim/shrink.hpp"

#include <gtest/gtest.h>

#include "sim/scenarios/broken_features.hpp"
#include "sim/scenarios/broken_stores.hpp"

namespace fenceline::sim {
namespace {

template <class Broken>
std::unique_ptr<Store> make(Store& inner) {
  return std::make_unique<Broken>(inner);
}

struct Found {
  std::uint64_t seed = 0;
  std::string promise;
};

struct Shrinking : testing::Test {
  StackPool stacks;

  Found first_failure(const Scenario& scenario, const SeedOptions& options) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const SeedReport report = play(scenario, seed, stacks, options);
      if (!report.violations.empty()) return {seed, report.violations.front().promise};
    }
    ADD_FAILURE() << "300 seeds saw nothing";
    return {};
  }

  // Reduces the first failing seed, and plays what the printed line says.
  Shrunk reduce(std::string_view scenario_name, std::unique_ptr<Store> (*broken)(Store&)) {
    const Scenario& scenario = *find_scenario(scenario_name);
    const SeedOptions options{.wrap_store = broken};
    const Found found = first_failure(scenario, options);
    const std::optional<Shrunk> shrunk = shrink(scenario, found.seed, stacks, {.seed_options = options});
    if (!shrunk) {
      ADD_FAILURE() << "a seed that breaks a promise is reduced to one that breaks it";
      return {};
    }
    EXPECT_EQ(shrunk->violations.front().promise, found.promise);

    const std::string line = repeat_line(scenario, found.seed, shrunk->change);
    const std::size_t shrunk_at = line.find("--shrunk ");
    const Result<PlanChange> change = parse_plan_change(line.substr(shrunk_at + 9));
    EXPECT_TRUE(change) << line;
    const SeedReport again = play(scenario, found.seed, stacks,
                                  {.tracing = true, .change = change.value_or(PlanChange{}), .wrap_store = broken});
    const std::string promise = again.violations.empty() ? "none" : again.violations.front().promise;
    EXPECT_EQ(promise, found.promise) << line;
    EXPECT_EQ(again.tally.of(Count::operations), shrunk->operations) << line;
    return *shrunk;
  }
};

TEST_F(Shrinking, ReducesAFailureToFarFewerOperations) {
  const Shrunk shrunk = reduce("job-storm", make<SettlesUnderAnyFence>);
  EXPECT_LT(shrunk.operations, 60);
  EXPECT_LT(shrunk.operations * 4, shrunk.operations_before);
}

TEST_F(Shrinking, LeavesOfACancelAndALateOutcomeHardlyMoreThanThese) {
  const Shrunk shrunk = reduce("cancel-against-completion", make<AcceptsAnOutcomeAfterACancel>);
  EXPECT_LT(shrunk.operations, 15);
  EXPECT_EQ(shrunk.change.sizes.at("jobs"), 1);
}

TEST_F(Shrinking, LeavesOnWhatTheFailureNeeds) {
  const Shrunk shrunk = reduce("unique-keys", make<RetriesOntoATakenKey>);
  ASSERT_TRUE(shrunk.change.switches_on);
  EXPECT_TRUE(shrunk.change.switches_on->contains("keyed"));
  EXPECT_TRUE(shrunk.change.switches_on->contains("retry"));
  EXPECT_LT(shrunk.change.switches_on->size(), 10U);
}

TEST_F(Shrinking, ReducesAFailureOfProgressToo) {
  const Shrunk shrunk = reduce("job-storm", make<PassesOverAFreeJob>);
  EXPECT_LT(shrunk.operations, 20);
}

TEST_F(Shrinking, TriesNoMoreThanItMay) {
  const Scenario& scenario = *find_scenario("lease-expiry");
  const SeedOptions options{.wrap_store = make<ReusesTheFence>};
  const std::optional<Shrunk> shrunk =
      shrink(scenario, first_failure(scenario, options).seed, stacks, {.tries_most = 5, .seed_options = options});
  ASSERT_TRUE(shrunk);
  EXPECT_LE(shrunk->tries, 5);
}

TEST_F(Shrinking, AGoodSeedIsNotReduced) { EXPECT_FALSE(shrink(*find_scenario("lease-expiry"), 1, stacks)); }

TEST(PlanChange, ReadsBackWhatItWrites) {
  const PlanChange change{
      .sizes = {{"hosts", 2}, {"storm_ms", 800}}, .switches_on = {{"pause", "drop_reply"}}, .world = 12};
  EXPECT_EQ(to_text(change), "hosts=2,storm_ms=800,on=drop_reply+pause,world=12");
  EXPECT_EQ(parse_plan_change(to_text(change)), change);
  const PlanChange calm{.sizes = {}, .switches_on = std::set<std::string, std::less<>>{}, .world = std::nullopt};
  EXPECT_EQ(to_text(calm), "on=nothing");
  EXPECT_EQ(parse_plan_change("on=nothing"), calm);
}

TEST(PlanChange, WhatIsNoChangeIsInvalid) {
  for (const char* text :
       {"", "hosts", "hosts=0", "hosts=x", "hosts=99999999999", "rain=3", "on=rain", "jobs=-1", "jobs=1,,"}) {
    const Result<PlanChange> read = parse_plan_change(text);
    EXPECT_TRUE(!read && read.error().code == Code::invalid) << text;
  }
}

TEST(PlanChange, EveryScenarioHasSwitchesOnAndAllCanBeOff) {
  for (const Scenario& scenario : scenarios()) {
    Plan plan = plan_of(scenario, 7);
    EXPECT_GT(switches_on(plan).size(), 3U) << scenario.name;
    apply({.sizes = {}, .switches_on = std::set<std::string, std::less<>>{}, .world = std::nullopt}, plan);
    EXPECT_TRUE(switches_on(plan).empty()) << scenario.name;
    StackPool stacks;
    SeedOptions options;
    options.change.switches_on.emplace();
    EXPECT_TRUE(play(scenario, 7, stacks, options).violations.empty()) << scenario.name;
  }
}

}  // namespace
}  // namespace fenceline::sim
