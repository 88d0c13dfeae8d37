// Handlers work for many leases while the store is slow and renewals are late, lost or refused.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_slow_renewals(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const double badness = static_cast<double>(random.between(0, 10)) * 0.02;
  Weather weather = bad_messages(ttl, badness);
  weather.delay_most = ttl / 40;
  weather.queue_most = ttl / 25;
  weather.pause_every = random.chance(0.5) ? 10 * ttl : Duration{0};
  weather.pause_most = ttl / 2;
  return {
      .hosts = static_cast<int>(random.between(1, 3)),
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(3, 12)),
      .batch_most = 4,
      .enqueue_pause_most = ttl,
      .job_delay_most = ttl,
      .features = {.timed = 0.3, .timeout_most = 10 * ttl},
      .habits = {.works_most = 20 * ttl, .fails = 0.05, .later = 0.05, .obstinate = 0.05, .speaks = 0.2},
      .weather = weather,
      .storm = 80 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario slow_renewals{.name = "slow-renewals",
                             .summary = "handlers that work for many leases on a slow store",
                             .plan = plan_of_slow_renewals,
                             .owes = {Count::long_runs, Count::timeouts, Count::losses, Count::takeovers,
                                      Count::refusals, Count::lost_replies, Count::notes}};

}  // namespace fenceline::sim
