// All workers go at once, killed or asked to, and come back under new names while old leases run out.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_fleet_restart(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s, 60s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 5));
  Weather weather = bad_messages(ttl, 0.02);
  weather.fleet_every = 4 * ttl;
  weather.pause_every = 20 * ttl;
  weather.pause_most = 2 * ttl;
  weather.twin = 0.5;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 4)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(20, 60)),
      .batch_most = 10,
      .enqueue_pause_most = 2 * ttl,
      .job_delay_most = 2 * ttl,
      .features = {.grouped = 0.3, .groups = 2},
      .habits = {.works_most = 2 * ttl, .fails = 0.05, .later = 0.05},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario fleet_restart{.name = "fleet-restart",
                             .summary = "all workers restarted at once, again and again",
                             .plan = plan_of_fleet_restart,
                             .owes = {Count::fleet_restarts, Count::takeovers, Count::losses, Count::given_back,
                                      Count::ran_alone, Count::group_handovers}};

}  // namespace fenceline::sim
