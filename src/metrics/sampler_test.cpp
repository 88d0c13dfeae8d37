#include "metrics/sampler.hpp"

#include <gtest/gtest.h>

#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::metrics {
namespace {

using namespace std::chrono_literals;

// A store that takes a moment to answer, or long to say nothing.
struct SamplerTest : testing::Test {
  sim::StackPool stacks;
  sim::Simulation simulation{1, stacks};
  sim::Machine machine{"m", 0s, 0, 0s};
  sim::SimRuntime process{simulation, machine, "p"};
  Metrics metrics{{.version = "1", .store = "memory"}, process};
  Duration takes = 10ms;
  bool answers = true;
  std::vector<Instant> taken;  // began
  bool looked = false;

  bool take() {
    taken.push_back(process.now());
    process.sleep_for(takes, {});
    if (answers) metrics.answered(process.now());
    else metrics.not_answered();
    return answers;
  }

  void run(const std::function<void(Sampler&)>& look, SamplerOptions options = {}) {
    process.start([&](std::stop_token) {
      Sampler sampler(
          process, metrics, [&] { return take(); }, options);
      Task task = process.spawn("sampler", [&](std::stop_token stop) { sampler.run(std::move(stop)); });
      look(sampler);
      looked = true;
    });
    simulation.run_until(Instant::max());
    EXPECT_TRUE(looked);
  }
  double age() {
    metrics.text(process.now());
    return metrics.value(Family::sample_age_seconds);
  }
};

TEST_F(SamplerTest, TakesOneAtOnceAndThenOneEachTime) {
  run([&](Sampler&) { process.sleep_for(31s, {}); });
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0], Instant{});
  EXPECT_EQ(taken[2] - taken[1], 15s + 10ms);
}

TEST_F(SamplerTest, WorkersOfALargeFleetSampleLessOften) {
  metrics.set(Family::workers, {"seen"}, 39);
  run([&](Sampler& sampler) {
    process.sleep_for(30s, {});
    sampler.freshen();
    EXPECT_EQ(taken.size(), 1u) << "of three looks one is enough";
    process.sleep_for(2s, {});
    sampler.freshen();
    EXPECT_EQ(taken.size(), 2u);
    metrics.set(Family::workers, {"seen"}, 1000);
    process.sleep_for(200s, {});
    EXPECT_GE(taken.size(), 5u) << "no sample is older than the alert allows";
  });
}

TEST_F(SamplerTest, AScrapeGetsAFreshSample) {
  run([&](Sampler& sampler) {
    sampler.freshen();
    EXPECT_EQ(process.now(), Instant{10ms});
    EXPECT_EQ(taken.size(), 1u);
    process.sleep_for(500ms, {});
    sampler.freshen();
    EXPECT_EQ(process.now(), Instant{510ms}) << "it is fresh enough";
    process.sleep_for(5s, {});
    sampler.freshen();
    EXPECT_EQ(taken.size(), 2u);
    EXPECT_EQ(age(), 0.01);
  });
}

TEST_F(SamplerTest, AScrapeWaitsBrieflyForAHangingStoreAndNotAtAllForAnUnreachableOne) {
  run([&](Sampler& sampler) {
    sampler.freshen();
    process.sleep_for(5s, {});
    takes = 10s;
    answers = false;
    const Instant hangs = process.now();
    sampler.freshen();
    EXPECT_EQ(process.now() - hangs, 500ms) << "nobody knows yet that it is away";
    process.sleep_for(20s, {});
    EXPECT_EQ(metrics.value(Family::store_up), 0);
    const Instant away = process.now();
    sampler.freshen();
    EXPECT_EQ(process.now(), away);
    EXPECT_GT(age(), 25) << "and it is said how old the last one is";
    takes = 10ms;
    answers = true;
    process.sleep_for(40s, {});
    EXPECT_LT(age(), 16);
  });
}

TEST_F(SamplerTest, TheFirstLookIsMorePatient) {
  takes = 1500ms;
  run([&](Sampler& sampler) {
    sampler.freshen();
    EXPECT_EQ(process.now(), Instant{1500ms});
  });
}

}  // namespace
}  // namespace fenceline::metrics
