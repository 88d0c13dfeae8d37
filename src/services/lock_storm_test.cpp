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

// Stands among those who hold the lock as long as it lives.
class Believes {
 public:
  Believes(std::vector<const HeldLock*>& all, const HeldLock& held) : all_(all), held_(held) { all_.push_back(&held_); }
  ~Believes() { std::erase(all_, &held_); }
  Believes(const Believes&) = delete;
  Believes& operator=(const Believes&) = delete;

 private:
  std::vector<const HeldLock*>& all_;
  const HeldLock& held_;
};

// Processes that take one lock by turns while messages are lost, late and doubled, processes pause and are killed, and
// an operator breaks the lock. Each tick everybody who thinks that it may act is counted: never two (L3, L5); and
// fences only grow in the order of the grants (L2).
struct LockStorm {
  explicit LockStorm(std::uint64_t seed) : simulation(seed, stacks) {
    weather = {.drop_request = 0.05,
               .refuse_request = 0.05,
               .drop_reply = 0.05,
               .late_request = 0.03,
               .duplicate = 0.05,
               .drop_wakeup = 0.2,
               .delay_most = 200ms,
               .queue_most = 100ms};
  }

  void process(int number) {
    auto runtime = std::make_unique<SimRuntime>(simulation, machine, "p" + std::to_string(number));
    auto road = std::make_unique<FaultyStore>(*runtime, memory, store_server, weather, tally);
    SimRuntime& its_runtime = *runtime;
    FaultyStore& its_road = *road;
    runtime->start([this, &its_runtime, &its_road](std::stop_token stop) {
      LockClient locks(
          make_lock_parts(its_runtime, Log(null_log_sink()), its_road, {.ns = "n", .place = its_runtime.name()}));
      std::vector<Task> threads;
      for (int i = 0; i < 3; ++i) {
        threads.push_back(
            its_runtime.spawn("thread", [&](std::stop_token over) { contend(its_runtime, locks, std::move(over)); }));
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
      (void)locks.with(
          {.names = {"deploy"}, .ttl = 6s, .wait = 1min, .on_release_error = OnReleaseError::ignore},
          [&](const HeldLock& held) {
            const Believes believes(believers, held);  // leaves also if the process is killed
            const bool just_broken = broken_at && simulation.now() < *broken_at + 6s;
            // Whoever was paused between its grant and this line may come here when it is over; it knows.
            if (held.held() && held.fence() <= newest && !just_broken) older += 1;  // granted later, and smaller
            newest = std::max(newest, held.fence());
            const Instant until = runtime.now() + Duration{static_cast<Duration::rep>(runtime.random() % 15'000'000)};
            runtime.sleep_until(until, held.stop());
          },
          over);
    }
  }

  void look() {
    // Whoever a break took it from learns of that with its next renewal, or loses its trust: within a ttl in any case.
    if (broken_at && simulation.now() < *broken_at + 6s) return;
    int acting = 0;
    for (const HeldLock* one : believers) acting += one->held() ? 1 : 0;
    most_acting = std::max(most_acting, acting);
  }

  void run() {
    for (int i = 0; i < 4; ++i) process(i);
    for (Duration when = 50ms; when < 10min; when += 50ms) simulation.at(Instant{when}, [this] { look(); });
    for (Duration when = 20s; when < 10min; when += 20s) {
      simulation.at(Instant{when}, [this] {
        SimRuntime* const paused = runtimes[simulation.random().next() % runtimes.size()].get();
        paused->pause();  // nothing, if it is dead
        simulation.after(Duration{static_cast<Duration::rep>(simulation.random().next() % 12'000'000)},
                         [paused] { paused->resume(); });
      });
    }
    for (Duration when = 45s; when < 9min; when += 45s) {
      simulation.at(Instant{when}, [this] {
        runtimes[simulation.random().next() % runtimes.size()]->kill();
        process(static_cast<int>(runtimes.size()));
      });
    }
    for (Duration when = 70s; when < 9min; when += 70s) {
      simulation.at(Instant{when}, [this] {
        broken_at = simulation.now();
        broken +=
            memory.break_lock({.ns = "n", .resource = "deploy", .request = std::to_string(broken), .act = {"ana", ""}})
                    .has_value()
                ? 1
                : 0;
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
  std::vector<const HeldLock*> believers;
  Fence newest = 0;
  int older = 0;
  int broken = 0;
  std::optional<Instant> broken_at;
  int most_acting = 0;
  LockCounts counted;
  std::vector<std::unique_ptr<SimRuntime>> runtimes;
  std::vector<std::unique_ptr<FaultyStore>> roads;
};

TEST(LockStorm, L3_NeverDoTwoThinkThatTheyMayAct) {
  LockCounts all;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 1024}) {
    LockStorm storm(seed);
    storm.run();
    EXPECT_EQ(storm.most_acting, 1) << "seed " << seed;
    EXPECT_EQ(storm.older, 0) << "seed " << seed;
    for (const auto& runtime : storm.runtimes)
      EXPECT_FALSE(runtime->alive()) << "seed " << seed << ": it does not end when it is told to";
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
