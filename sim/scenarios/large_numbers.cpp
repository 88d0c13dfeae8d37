// Fences near 2^53, and for a while past it; order of enqueue and deliveries near 2^31 and 2^53.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = rough_weather(ttl, 0.02, hosts);
  // 2^53 microseconds lie in the year 2255; simulated time begins with 2026.
  const Duration until_the_last_fence = Duration{kFenceMax} - Duration{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()};
  constexpr std::int64_t kNear[] = {(std::int64_t{1} << 31) - 10, (std::int64_t{1} << 32) - 10, (std::int64_t{1} << 53) - 10};
  return {
      .numbers = {.wall_ahead = until_the_last_fence - random.between(Duration{24h * 10}, Duration{24h * 100}),
                  .order = kNear[random.below(std::size(kNear))],
                  .deliveries = kNear[random.below(std::size(kNear))]},
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
                   .repeated = 0.3},
      .settings = {.limit_per_key = 2},
      .habits = {.works_most = ttl, .fails = 0.1, .later = 0.05, .speaks = 0.2},
      .operators = {.act_every = 2 * ttl, .cancel = 3, .retry = 3, .pause = 1, .purge = 1, .limits = 1, .order = 1},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .fences_end = random.chance(0.5),
      .compare_every = 64,
  };
}

}  // namespace

const Scenario large_numbers{.name = "large-numbers",
                  .summary = "fences near 2^53 and past it, other numbers near 2^31 and 2^53",
                  .plan = plan,
                  .owes = {Count::fences_refused, Count::wall_leaps, Count::takeovers, Count::refusals, Count::losses, Count::group_handovers,
                             Count::cancelled_running, Count::retried, Count::notes, Count::keys_met}};

}  // namespace fenceline::sim
