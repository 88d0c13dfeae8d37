// S1 does not rest on the lead: three schedulers that all believe they have it.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "services/scheduler.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/scenarios/world.hpp"
#include "sim/store/faulty_store.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kSchedules = 10;
constexpr int kTicksOfEach = 1000;

// Whoever asks for the lock has it.
class GrantsToEverybody final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    return AcquireReply{.grants = {{.resource = request.names.front(), .fence = ++fence_, .previous_owner = {}}},
                        .left = request.ttl,
                        .waited = {},
                        .held = {},
                        .again_in = {}};
  }
  Result<RenewReply> renew(const RenewRequest& request) override {
    return RenewReply{.left = request.ttl, .waited = {}, .refused = {}};
  }
  Result<ReleaseReply> release(const ReleaseRequest&) override { return ReleaseReply{}; }

 private:
  Fence fence_ = 0;
};

struct Leader {
  Leader(Simulation& simulation, const std::string& name, std::int64_t drift_ppm, Store& store, StoreServer& server,
         const Weather& weather, Tally& tally)
      : machine(name, 3h, drift_ppm, -1000h),
        runtime(simulation, machine, name),
        wire(runtime, store, server, weather, tally),
        scheduler(runtime, Log(null_log_sink()), wire, {.ns = "default", .owner = name, .place = name}) {}
  ~Leader() { runtime.kill(); }

  Machine machine;
  SimRuntime runtime;
  FaultyStore wire;
  Scheduler scheduler;
};

class ThreeLeaders : public testing::TestWithParam<bool> {};

TEST_P(ThreeLeaders, S1_FireEachOfTenThousandTicksOnce) {
  StackPool stacks;
  Simulation simulation(11, stacks);
  Machine machine("store", 0s, 0, 0s);
  MachineClock clock(simulation, machine);
  SimRuntime store_runtime(simulation, machine, "store");
  std::unique_ptr<Store> store;
  if (GetParam()) {
    auto opened = SqliteStore::open(store_runtime, clock, Log(null_log_sink()), {.path = ":memory:", .actor = "test"});
    ASSERT_TRUE(opened.has_value());
    store = std::move(*opened);
  } else {
    store = std::make_unique<MemoryStore>(clock);
  }
  GrantsToEverybody sabotaged(*store);
  StoreServer server;
  const Weather weather{.drop_reply = 0.01, .duplicate = 0.05, .delay_most = 3ms};
  Tally tally;
  const WallTime begin = std::chrono::floor<std::chrono::seconds>(clock.wall_now());
  for (int i = 0; i < kSchedules; ++i) {
    const ScheduleSpec spec{.every = 1s,
                            .anchor = begin,
                            .ends = begin + kTicksOfEach * 1s,
                            .catch_up = CatchUp::all,
                            .cap = 1000,
                            .queue = "q"};
    ASSERT_TRUE(store->change_schedule({.ns = "default",
                                        .name = "s" + std::to_string(i),
                                        .spec = spec_text(spec),
                                        .request = "put" + std::to_string(i),
                                        .owner = "test",
                                        .act = {"ana", ""}}));
  }

  std::vector<std::unique_ptr<Leader>> leaders;
  for (const auto& [name, drift] : {std::pair{"a", 150}, {"b", 0}, {"c", -150}})
    leaders.push_back(std::make_unique<Leader>(simulation, name, drift, sabotaged, server, weather, tally));
  for (const auto& leader : leaders)
    leader->runtime.start([&leader](std::stop_token stop) { leader->scheduler.run(stop); });
  simulation.run_until(Instant{kTicksOfEach * 1s + 1min});

  std::set<JobId> jobs;
  std::int64_t rows = 0;
  for (int i = 0; i < kSchedules; ++i) {
    TicksRequest request{.ns = "default", .schedule = "s" + std::to_string(i), .limit = 1000};
    const Result<TicksReply> page = store->ticks(request);
    ASSERT_TRUE(page.has_value());
    for (const TickRow& row : page->ticks) {
      EXPECT_TRUE(row.fired()) << row.reason;
      jobs.insert(*row.job);
      rows += 1;
    }
  }
  const Result<std::vector<QueueRow>> queues = store->queues("default");
  ASSERT_TRUE(queues.has_value() && queues->size() == 1);
  std::int64_t refused = 0;
  std::int64_t fired = 0;
  for (const auto& leader : leaders) {
    const ScheduleCounts counts = leader->scheduler.counts();
    EXPECT_GE(counts.fired, 500) << "each of them believes that it leads";
    refused += counts.steps_refused + counts.duplicates;
    fired += counts.fired;
  }
  std::cout << rows << " ticks fired, " << refused << " steps of others refused\n";
  EXPECT_EQ(rows, kSchedules * kTicksOfEach);
  EXPECT_EQ(jobs.size(), static_cast<std::size_t>(rows));
  EXPECT_EQ(queues->front().depth_of(JobState::ready), rows);
  EXPECT_LE(fired, rows) << "less only if a leader died before it was told";
  EXPECT_GT(refused, 1000);
}

INSTANTIATE_TEST_SUITE_P(Sim, ThreeLeaders, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "OnSqlite" : "OnMemory"; });

}  // namespace
}  // namespace fenceline::sim
