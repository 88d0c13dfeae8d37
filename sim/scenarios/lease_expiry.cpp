// Few workers that hold many leases for many times their length: holders that are stopped past them, wake up and write
// late. At least 60 leases are granted, renewed or given up in a simulated minute.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_lease_expiry(Random& random) {
  constexpr Duration kTtls[] = {2s, 5s, 10s, 30s, 40s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  return {
      .hosts = static_cast<int>(random.between(2, 3)),
      .concurrency = static_cast<int>(random.between(8, 12)),
      .prefetch = static_cast<int>(random.between(0, 1)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(30, 60)),
      .batch_most = 20,
      .enqueue_pause_most = ttl,
      .delayed = 0.1,
      .job_delay_most = 10 * ttl,
      .backoff = {.first = 1s, .most = 10s},
      .habits = {.works_most = 20 * ttl, .fails = 0.1, .later = 0.05, .obstinate = 0.2},
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
                  .pause_at_step = 0.002,
                  .delay_at_step = 0.05,
                  .step_delay_most = ttl / 100},
      .storm = 30 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario lease_expiry{.name = "lease-expiry",
                            .summary = "holders stopped past their lease, and their late writes",
                            .plan = plan_of_lease_expiry,
                            .owes = rough_counts({Count::lease_operations})};

}  // namespace fenceline::sim
