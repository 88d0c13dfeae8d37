// Workers are asked to stop all the time, by a signal or an order. Where nothing else goes wrong, no delivery is lost.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_graceful_stop(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  const bool rough = random.chance(0.5);
  Weather weather{
      .delay_most = ttl / 100, .restart_most = ttl / 2, .delay_at_step = 0.05, .step_delay_most = ttl / 200};
  if (rough) weather = rough_weather(ttl, 0.03, hosts);
  weather.terminate_every = 2 * ttl / hosts;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 4)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(20, 60)),
      .batch_most = 10,
      .enqueue_pause_most = ttl,
      .job_delay_most = 2 * ttl,
      .habits = {.works_most = 2 * ttl, .fails = 0.05, .later = 0.1, .obstinate = rough ? 0.1 : 0},
      .operators = {.act_every = 2 * ttl, .order = 1},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .nothing_lost = !rough,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario graceful_stop{.name = "graceful-stop",
                             .summary = "workers asked to stop all the time, and no delivery lost by it",
                             .plan = plan_of_graceful_stop,
                             .owes = {Count::terminations, Count::given_back, Count::workers_ordered,
                                      Count::order_waits, Count::losses, Count::takeovers, Count::kills}};

}  // namespace fenceline::sim
