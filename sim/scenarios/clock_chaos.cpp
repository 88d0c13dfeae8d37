// Wall clocks are set by many minutes, either way, the store's too, and many run far too fast or too slow.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_clock_chaos(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.wall_jump_every = ttl;
  weather.wall_jump_most = 20min;
  weather.pause_every = 10 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  weather.suspend_every = 10 * ttl;
  weather.kill_every = 20 * ttl / hosts;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(10, 40)),
      .batch_most = 5,
      .enqueue_pause_most = ttl,
      .job_delay_most = 10 * ttl,
      .features = {.keyed = 0.2,
                   .keys = 3,
                   .key_for_most = 1h,
                   .grouped = 0.4,
                   .groups = 2,
                   .dated = 0.5,
                   .timed = 0.2,
                   .timeout_most = ttl},
      .habits = {.works_most = 2 * ttl, .fails = 0.1, .later = 0.05},
      .operators = {.act_every = 4 * ttl, .cancel = 1, .retry = 1},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .wild_clock = 0.4,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario clock_chaos{.name = "clock-chaos",
                           .summary = "clocks set to and fro and running wild",
                           .plan = plan_of_clock_chaos,
                           .owes = {Count::wall_jumps, Count::suspends, Count::takeovers, Count::refusals,
                                    Count::losses, Count::group_handovers, Count::timeouts}};

}  // namespace fenceline::sim
