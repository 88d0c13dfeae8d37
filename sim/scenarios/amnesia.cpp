// The store comes back empty while workers hold jobs of it and clients repeat what they sent.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.amnesia_every = 15 * ttl;
  weather.down_most = ttl;
  weather.wall_back_every = random.chance(0.5) ? 10 * ttl : Duration{0};
  weather.wall_back_most = 40 * ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  return {
      .guarantee = GuaranteeClass::c,
      .hosts = hosts,
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
                   .repeated = 0.8},
      .settings = {.limit_per_key = 2},
      .habits = {.works_most = 2 * ttl, .fails = 0.1, .later = 0.05, .stubborn = 0.1, .speaks = 0.2},
      .operators = {.act_every = 2 * ttl, .cancel = 3, .retry = 3, .pause = 1, .purge = 1, .limits = 1, .order = 1},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario amnesia{.name = "amnesia",
                  .summary = "a store that comes back empty, under running workers",
                  .plan = plan,
                  .owes = {Count::amnesias, Count::calls_forgotten, Count::granted_after_loss, Count::fences_excused, Count::refusals,
                       Count::notes_refused, Count::store_down}};

}  // namespace fenceline::sim
