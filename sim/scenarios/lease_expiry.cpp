// Few workers, few jobs: holders that are stopped past their lease, wake up and write late.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan(Random& random) {
  constexpr Duration kTtls[] = {1s, 2s, 10s, 30s, 60s, 10min};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  return {
      .hosts = static_cast<int>(random.between(2, 3)),
      .concurrency = static_cast<int>(random.between(1, 2)),
      .prefetch = static_cast<int>(random.between(0, 1)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(2, 8)),
      .batch_most = 2,
      .enqueue_pause_most = 2 * ttl,
      .job_delay_most = 10 * ttl,
      .habits = {.works_most = 2 * ttl, .fails = 0.1, .later = 0.05, .stubborn = 0.2},
      .weather = {.drop_request = 0.01,
                  .drop_reply = 0.02,
                  .late_request = 0.01,
                  .duplicate = 0.02,
                  .delay_most = ttl / 100,
                  .kill_every = 30 * ttl,
                  .pause_every = 2 * ttl,
                  .pause_most = 3 * ttl,
                  .suspend_every = 20 * ttl,
                  .restart_most = ttl,
                  .twin = 0.2,
                  .pause_at_step = 0.01,
                  .delay_at_step = 0.05,
                  .step_delay_most = ttl / 100},
      .storm = 20 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 32,
  };
}

}  // namespace

const Scenario lease_expiry{
    .name = "lease-expiry", .summary = "holders stopped past their lease, and their late writes", .plan = plan, .owes = rough_counts({Count::lease_operations})};

}  // namespace fenceline::sim
