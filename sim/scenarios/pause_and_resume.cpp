// Queues are paused and resumed under what runs, waits and has run out; one may stay paused to the end.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_pause_and_resume(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 3));
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .queues = static_cast<int>(random.between(1, 3)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(10, 50)),
      .batch_most = 5,
      .enqueue_pause_most = ttl,
      .job_delay_most = 2 * ttl,
      .poison = 0.03,
      .features = {.grouped = 0.2, .groups = 2},
      .habits = {.works_most = ttl, .fails = 0.1, .later = 0.05},
      .operators = {.act_every = ttl, .cancel = 1, .retry = 1, .pause = 6, .purge = 1, .leaves_paused = 0.5},
      .weather = rough_weather(ttl, 0.03, hosts),
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario pause_and_resume{
    .name = "pause-and-resume",
    .summary = "queues paused and resumed under running jobs",
    .plan = plan_of_pause_and_resume,
    .owes = rough_counts({Count::queues_paused, Count::queues_resumed, Count::queue_waits, Count::purged})};

}  // namespace fenceline::sim
