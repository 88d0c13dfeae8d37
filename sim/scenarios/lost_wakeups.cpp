// No wake-up ever arrives, during the storm nor after it: a hint only shortens a sleep.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_lost_wakeups(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(1, 3));
  Weather weather = random.chance(0.5) ? rough_weather(ttl, 0.02, hosts) : Weather{.delay_most = ttl / 100};
  weather.drop_wakeup = 1;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 3)),
      .queues = static_cast<int>(random.between(1, 3)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(5, 40)),
      .batch_most = 3,
      .enqueue_pause_most = 2 * ttl,
      .job_delay_most = 5 * ttl,
      .features = {.grouped = 0.3, .groups = 2, .limited = 0.3},
      .settings = {.limit_per_key = 1},
      .habits = {.works_most = ttl / 2, .fails = 0.1, .later = 0.1},
      .operators = {.act_every = 2 * ttl, .cancel = 1, .retry = 1, .pause = 1},
      .weather = weather,
      .storm = 30 * ttl,
      .drift_ppm = 20'000,
      .deaf = true,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario lost_wakeups{.name = "lost-wakeups",
                            .summary = "no wake-up ever arrives",
                            .plan = plan_of_lost_wakeups,
                            .owes = {Count::lost_wakeups, Count::settled, Count::group_handovers, Count::limit_waits,
                                     Count::cancelled, Count::queues_resumed}};

}  // namespace fenceline::sim
