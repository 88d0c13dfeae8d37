// People cancel and retry what is just running, finishing or being taken over. Half of the plans lose no message: there
// a worker must learn in time.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_cancel_against_completion(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 3));
  const bool rough = random.chance(0.5);
  const Weather calm{.delay_most = ttl / 100, .delay_at_step = 0.05, .step_delay_most = ttl / 200};
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(10, 40)),
      .batch_most = 4,
      .enqueue_pause_most = ttl / 2,
      .job_delay_most = ttl,
      .features = {.keyed = 0.2, .keys = 3, .grouped = 0.4, .groups = 2, .limited = 0.3, .limit_keys = 2},
      .settings = {.limit_per_key = 2},
      .habits = {.works_most = ttl, .fails = 0.1, .later = 0.1, .obstinate = rough ? 0.1 : 0, .speaks = 0.3},
      .operators = {.act_every = ttl / 4, .cancel = 3, .retry = 3, .purge = 1},
      .weather = rough ? rough_weather(ttl, 0.03, hosts) : calm,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .cancel_seen_within = rough ? Duration{0} : 2s + ttl / 5,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario cancel_against_completion{
    .name = "cancel-against-completion",
    .summary = "cancels and retries against handlers about to finish",
    .plan = plan_of_cancel_against_completion,
    .owes = {Count::cancelled_running, Count::cancelled_too_late, Count::retried_running, Count::acts_repeated,
             Count::late_outcomes, Count::stopped_said, Count::stopped_handlers, Count::slot_waits, Count::purged,
             Count::notes, Count::notes_refused, Count::refusals}};

}  // namespace fenceline::sim
