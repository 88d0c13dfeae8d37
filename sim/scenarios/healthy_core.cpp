// Liveness: one or two workers are well, all others are stopped, cut off or dying for ever, and everything ends.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = rough_weather(ttl, 0.03, hosts);
  return {
      .healthy_hosts = static_cast<int>(random.between(1, 2)),
      .hosts = hosts + 2,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .producers = 2,
      .jobs = static_cast<int>(random.between(10, 40)),
      .batch_most = 5,
      .enqueue_pause_most = ttl,
      .job_delay_most = 10 * ttl,
      .features = {.keyed = 0.3,
                   .keys = 4,
                   .key_for_most = 5 * ttl,
                   .grouped = 0.3,
                   .groups = 2,
                   .limited = 0.2,
                   .limit_keys = 2,
                   .timed = 0.1,
                   .timeout_most = ttl,
                   .named = 0.1,
                   .repeated = 0.3},
      .settings = {.limit_per_key = 2},
      .habits = {.works_most = ttl, .fails = 0.1, .later = 0.05, .stubborn = 0.1},
      .operators = {.act_every = 2 * ttl, .cancel = 3, .retry = 3, .pause = 1, .purge = 1, .limits = 1, .order = 1},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario healthy_core{.name = "healthy-core",
                  .summary = "a few healthy workers among others with faults that never end (J8)",
                  .plan = plan,
                  .owes = rough_counts({Count::paused_for_ever, Count::cut_off_for_ever, Count::cut_one_way_for_ever, Count::dying_for_ever,
                                         Count::given_back})};

}  // namespace fenceline::sim
