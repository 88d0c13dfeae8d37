// Groups in order and limits that people move, under every kind of fault.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_groups_and_limits(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 3)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .producers = 2,
      .jobs = static_cast<int>(random.between(10, 60)),
      .batch_most = 6,
      .enqueue_pause_most = ttl / 2,
      .job_delay_most = 2 * ttl,
      .attempts_max = 4,
      .backoff = {.first = 1s, .most = 30s},
      .features = {.grouped = 0.7, .groups = 3, .limited = 0.5, .limit_keys = 2},
      .settings = {.limit = 3, .limit_per_key = 1},
      .habits = {.works_most = ttl / 2, .fails = 0.1, .dies = 0.02, .later = 0.1, .obstinate = 0.1},
      .operators = {.act_every = ttl, .cancel = 3, .retry = 2, .limits = 2},
      .weather = rough_weather(ttl, 0.03, hosts),
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario groups_and_limits{
    .name = "groups-and-limits",
    .summary = "groups one at a time and in order, limits never exceeded",
    .plan = plan_of_groups_and_limits,
    .owes = rough_counts({Count::group_handovers, Count::group_waits, Count::limit_waits, Count::slot_waits,
                          Count::cancelled_running, Count::settings_changed})};

}  // namespace fenceline::sim
