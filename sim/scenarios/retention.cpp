// Days pass on the clock of the store: finished jobs are tidied away while clients repeat what they sent.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_retention(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(1, 3));
  Weather weather = rough_weather(ttl, 0.03, hosts);
  weather.wall_leap_every = 2 * ttl;
  weather.wall_leap_most = random.chance(0.5) ? 30h : 24h * 20;
  weather.wall_jump_every = 10 * ttl;
  weather.wall_jump_most = 10min;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .producers = 2,
      .jobs = static_cast<int>(random.between(20, 60)),
      .batch_most = 4,
      .enqueue_pause_most = ttl,
      .job_delay_most = 2 * ttl,
      .attempts_max = 2,
      .backoff = {.first = 1s, .most = 30s},
      .features = {.keyed = 0.3,
                   .keys = 6,
                   .key_for_most = 24h * 10,
                   .grouped = 0.3,
                   .groups = 2,
                   .named = 0.2,
                   .repeated = 0.7},
      .settings = {.keep_done = 24h, .keep_dead = 48h},
      .habits = {.works_most = ttl / 2, .fails = 0.1, .dies = 0.1},
      .operators = {.act_every = ttl / 2, .cancel = 2, .retry = 1, .tidy = 4},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario retention{.name = "retention",
                         .summary = "finished jobs tidied away, against repeats and re-creation",
                         .plan = plan_of_retention,
                         .owes = {Count::tidied, Count::made_anew, Count::met_again, Count::wall_leaps,
                                  Count::wall_jumps, Count::keys_held_after, Count::cancelled, Count::takeovers}};

}  // namespace fenceline::sim
