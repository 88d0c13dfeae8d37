// Lock clients in bad weather: what they believe must never contradict what another one believes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "services/lock_client.hpp"
#include "sim/store/faulty_store.hpp"
#include "support/results.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

struct Believer {
  std::string who;
  const HeldLock* held;
};

// Processes that take one lock by turns while messages are lost, late and doubled, and processes pause. Each tick everybody who thinks that it may act is
// counted: never two (L3, L5); and fences only grow in the order of the grants (L2).
struct LockStorm {
  explicit LockStorm(std::uint64_t seed) : simulation(seed, stacks) {
    weather = {.drop_request = 0.05, .refuse_request = 0.05, .drop_reply = 0.05, .late_request = 0.03, .duplicate = 0.05, .drop_wakeup = 0.2, .delay_most = 200ms, .queue_most = 100ms};
  }

  void process(int number) {
    auto runtime = std::make_unique<SimRuntime>(simulation, machine, "p" + std::to_string(number));
    auto road = std::make_unique<FaultyStore>(*runtime, memory, store_server, weather, tally);
    SimRuntime& its_runtime = *runtime;
    FaultyStore& its_road = *road;
    runtime->start([this, &its_runtime, &its_road](std::stop_token stop) {
      LockClient locks(its_runtime, Log(null_log_sink()), its_road, {.ns = "n", .place = its_runtime.name()});
      std::vector<Task> threads;
      for (int i = 0; i < 3; ++i) {
        threads.push_back(its_runtime.spawn("thread", [&](std::stop_token over) { contend(its_runtime, locks, std::move(over)); }));
      }
      its_runtime.sleep_for(1h, stop);
      for (Task& thread : threads) thread.request_stop();
      for (Task& thread : threads) thread.join();
      counted.acquired += locks.counts().acquired;
      counted.lost += locks.counts().lost;
      counted.renewals += locks.counts().renewals;
    });
    runtimes.push_back(std::move(runtime));
    roads.push_back(std::move(road));
  }

  void contend(SimRuntime& runtime, LockClient& locks, std::stop_token over) {
    while (!over.stop_requested()) {
      (void)locks.with({.names = {"deploy"}, .ttl = 6s, .wait = 1min, .on_release_error = OnReleaseError::ignore}, [&](const HeldLock& held) {
        believers.push_back({runtime.name(), &held});
        if (held.fence() <= newest) older += 1;  // granted later, and smaller
        newest = std::max(newest, held.fence());
        const Instant until = runtime.now() + Duration{static_cast<Duration::rep>(runtime.random() % 15'000'000)};
        runtime.sleep_until(until, held.stop());
        std::erase_if(believers, [&](const Believer& one) { return one.held == &held; });
      }, over);
    }
  }

  void look() {
    int acting = 0;
    for (const Believer& one : believers) acting += one.held->held() ? 1 : 0;
    most_acting = std::max(most_acting, acting);
  }

  void run() {
    for (int i = 0; i < 4; ++i) process(i);
    for (Duration when = 50ms; when < 10min; when += 50ms) simulation.at(Instant{when}, [this] { look(); });
    for (Duration when = 20s; when < 10min; when += 20s) {
      simulation.at(Instant{when}, [this] {
        SimRuntime* const paused = runtimes[simulation.random().next() % runtimes.size()].get();
        paused->pause();
        simulation.after(Duration{static_cast<Duration::rep>(simulation.random().next() % 12'000'000)}, [paused] { paused->resume(); });
      });
    }
    simulation.at(Instant{10min}, [this] {
      weather = {};
      for (auto& runtime : runtimes) runtime->terminate();
    });
    simulation.run_until(Instant{20min});
  }

  StackPool stacks;
  Simulation simulation;
  Machine machine{"m", 0s, 0, std::chrono::hours{24 * 365 * 50}};
  SimRuntime server{simulation, machine, "store"};
  MemoryStore memory{server};
  StoreServer store_server;
  Weather weather;
  Tally tally;
  std::vector<Believer> believers;
  Fence newest = 0;
  int older = 0;
  int most_acting = 0;
  LockCounts counted;
  std::vector<std::unique_ptr<SimRuntime>> runtimes;
  std::vector<std::unique_ptr<FaultyStore>> roads;
};

TEST(LockStorm, L3_NeverDoTwoThinkThatTheyMayAct) {
  LockCounts all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    LockStorm storm(seed);
    storm.run();
    EXPECT_EQ(storm.most_acting, 1) << "seed " << seed;
    EXPECT_EQ(storm.older, 0) << "seed " << seed;
    for (const auto& runtime : storm.runtimes) EXPECT_FALSE(runtime->alive()) << "seed " << seed << ": it does not end when it is told to";
    const std::optional<LockRow> row = test::must(storm.memory.lock("n", "deploy"));
    EXPECT_EQ(row->waiters_count, 0) << "seed " << seed;
    all.acquired += storm.counted.acquired;
    all.lost += storm.counted.lost;
    all.renewals += storm.counted.renewals;
  }
  EXPECT_GT(all.acquired, 200);
  EXPECT_GT(all.renewals, 100);
  EXPECT_GT(all.lost, 5);
}

}  // namespace
}  // namespace fenceline::sim
