// Several workers, many jobs with every feature, people at work, and every kind of weather: killed, paused, restarted,
// cut off and poisoned.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_job_storm(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const double badness = static_cast<double>(random.between(1, 10)) * 0.01;
  const int hosts = static_cast<int>(random.between(2, 5));
  Weather weather = rough_weather(ttl, badness, hosts);
  weather.queue_most = random.chance(0.3) ? ttl / 50 : Duration{0};
  weather.suspend_every = 20 * ttl;
  weather.wall_jump_every = 10 * ttl;
  weather.wall_jump_most = 10min;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 3)),
      .queues = static_cast<int>(random.between(1, 3)),
      .ttl = ttl,
      .producers = static_cast<int>(random.between(1, 2)),
      .jobs = static_cast<int>(random.between(10, 60)),
      .batch_most = 10,
      .enqueue_pause_most = ttl,
      .job_delay_most = 10 * ttl,
      .attempts_max = static_cast<int>(random.between(2, 10)),
      .poison = 0.03,
      .features = {.keyed = 0.2,
                   .keys = 5,
                   .other_payload = 0.05,
                   .key_for_most = 5 * ttl,
                   .grouped = 0.3,
                   .groups = 3,
                   .limited = 0.3,
                   .limit_keys = 2,
                   .dated = 0.2,
                   .timed = 0.2,
                   .timeout_most = ttl,
                   .named = 0.1,
                   .repeated = 0.1},
      .settings = {.limit_per_key = 2},
      .habits = {.works_most = ttl,
                 .fails = 0.1,
                 .throws = 0.03,
                 .dies = 0.02,
                 .later = 0.1,
                 .obstinate = 0.1,
                 .speaks = 0.2},
      .operators = {.act_every = ttl,
                    .cancel = 3,
                    .retry = 3,
                    .pause = 2,
                    .purge = 1,
                    .limits = 2,
                    .order = 1,
                    .tidy = 1,
                    .leaves_paused = 0.2},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .wild_clock = 0.1,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario job_storm{
    .name = "job-storm",
    .summary = "every feature under every kind of fault, with people at work",
    .plan = plan_of_job_storm,
    .owes = rough_counts({Count::refused_requests, Count::given_back, Count::died_of_losses, Count::ran_alone,
                          Count::poisoned, Count::terminations, Count::wall_jumps, Count::suspends, Count::keys_met,
                          Count::group_handovers, Count::limit_waits, Count::slot_waits, Count::queue_waits,
                          Count::cancelled_running, Count::retried, Count::purged, Count::timeouts, Count::stopped_said,
                          Count::notes})};

}  // namespace fenceline::sim
