// A scenario is a workload, a kind of weather, and checks: safety throughout the storm, progress after it. Each
// seed makes a plan of its own from it and plays that plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "sim/checks/violations.hpp"
#include "sim/runtime/random.hpp"
#include "sim/runtime/stack_pool.hpp"
#include "sim/store/tally.hpp"
#include "sim/store/weather.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

// What one handler does with one delivery, by chance.
struct Habits {
  Duration works_most{0};
  double fails = 0;
  double throws = 0;
  double dies = 0;      // asks for the dead letters
  double later = 0;
  double stubborn = 0;  // does not listen to its stop token, for a while
};

// One run, all sizes fixed.
struct Plan {
  bool sqlite = false;  // SQLite in memory underneath, else the memory store
  int hosts = 1;        // with one worker process each
  int concurrency = 1;
  int prefetch = 0;
  int queues = 1;
  Duration ttl{};
  int jobs = 1;
  int batch_most = 1;           // jobs in one enqueue
  Duration enqueue_pause_most{0};
  Duration job_delay_most{0};   // run times ahead
  int attempts_max = kAttemptsMaxDefault;
  double poison = 0;            // of the jobs: their handlers kill their process until they are dead letters
  Habits habits;
  Weather weather;
  Duration storm{};             // how long the weather lasts
  std::int64_t drift_ppm = 0;   // of clocks, either way
  std::int64_t drift_promised = 20'000;  // clocks off by more are outside L5: their late writes must still be refused
  double wild_clock = 0;        // of the machines: far beyond what L5 promises
  int compare_every = 32;       // calls between two comparisons of the whole store
};

struct Scenario {
  std::string_view name;
  std::string_view summary;
  Plan (*plan)(Random&);
};

// All of them, in the order in which they are listed to people.
const std::vector<Scenario>& scenarios();
const Scenario* find_scenario(std::string_view name);

struct SeedReport {
  Tally tally;
  Duration simulated{};
  std::vector<Violation> violations;
  std::string trace;  // if asked for
  bool stopped = false;
};

struct SeedOptions {
  bool tracing = false;
  std::stop_token stop;  // asked now and then
  // Puts something between the checks and the real store: how tests plant a bug.
  std::function<std::unique_ptr<Store>(Store&)> wrap_store;
};

// Plays one seed. The same seed gives the same report, byte for byte, in every build.
SeedReport play(const Scenario& scenario, std::uint64_t seed, StackPool& stacks, const SeedOptions& options = {});

}  // namespace fenceline::sim
