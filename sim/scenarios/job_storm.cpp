// Several workers, many jobs, every kind of weather: killed, paused, restarted, cut off and poisoned.
#include "sim/scenarios/job_storm.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const double badness = static_cast<double>(random.between(1, 10)) * 0.01;
  const int hosts = static_cast<int>(random.between(2, 5));
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 3)),
      .queues = static_cast<int>(random.between(1, 3)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(10, 60)),
      .batch_most = 10,
      .enqueue_pause_most = ttl,
      .job_delay_most = 10 * ttl,
      .attempts_max = static_cast<int>(random.between(2, 10)),
      .poison = 0.03,
      .habits = {.works_most = ttl, .fails = 0.1, .throws = 0.03, .dies = 0.02, .later = 0.1, .stubborn = 0.1},
      .weather = {.drop_request = badness,
                  .refuse_request = badness,
                  .drop_reply = badness,
                  .late_request = badness / 2,
                  .duplicate = badness,
                  .drop_wakeup = 0.3,
                  .delay_most = ttl / 80,
                  .queue_most = random.chance(0.3) ? ttl / 50 : Duration{0},
                  .kill_every = 10 * ttl / hosts,
                  .pause_every = 8 * ttl / hosts,
                  .pause_most = 2 * ttl,
                  .suspend_every = 20 * ttl,
                  .terminate_every = 20 * ttl / hosts,
                  .wall_jump_every = 10 * ttl,
                  .wall_jump_most = 10min,
                  .restart_most = ttl,
                  .twin = 0.3,
                  .kill_at_step = 0.001,
                  .pause_at_step = 0.001,
                  .delay_at_step = 0.05,
                  .step_delay_most = ttl / 100},
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .wild_clock = 0.1,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario job_storm{.name = "job-storm", .summary = "many jobs and workers under every kind of fault", .plan = plan};

}  // namespace fenceline::sim
