// The store's wall clock is set back again and again, by hours or days, between crashes, leaps ahead and tidying.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.wall_back_every = 8 * ttl;
  weather.wall_back_most = random.chance(0.5) ? Duration{1h} : Duration{72h};
  weather.wall_leap_every = 4 * ttl;
  weather.wall_leap_most = 48h;
  weather.crash_every = 8 * ttl;
  weather.unsaved_most = ttl / 5;
  weather.down_most = ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .producers = 2,
      .jobs = static_cast<int>(random.between(10, 40)),
      .batch_most = 5,
      .enqueue_pause_most = ttl,
      .job_delay_most = 2 * ttl,
      .features = {.keyed = 0.3,
                   .keys = 4,
                   .key_for_most = 24h,
                   .grouped = 0.3,
                   .groups = 2,
                   .limited = 0.2,
                   .limit_keys = 2,
                   .timed = 0.1,
                   .timeout_most = ttl,
                   .named = 0.1,
                   .repeated = 0.5},
      .settings = {.limit_per_key = 2, .keep_done = 24h, .keep_dead = 24h},
      .habits = {.works_most = ttl, .fails = 0.1, .dies = 0.1, .later = 0.05},
      .operators = {.act_every = ttl, .cancel = 2, .retry = 2, .tidy = 4},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario store_clock_back{.name = "store-clock-back",
                  .summary = "the store's wall clock set back, between crashes and tidying",
                  .plan = plan,
                  .owes = {Count::wall_set_back, Count::wall_leaps, Count::store_crashes, Count::calls_unsaved, Count::tidied, Count::made_anew,
                                Count::takeovers, Count::retried, Count::cancelled_running, Count::keys_held_after}};

}  // namespace fenceline::sim
