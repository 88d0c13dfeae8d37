// Several producers, few keys and a line that loses replies: who repeats, meets itself.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_unique_keys(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(1, 3));
  Weather weather = rough_weather(ttl, 0.03, hosts);
  weather.drop_reply = 0.2;
  weather.duplicate = 0.1;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .producers = 3,
      .jobs = static_cast<int>(random.between(20, 80)),
      .batch_most = 4,
      .enqueue_pause_most = ttl,
      .job_delay_most = 2 * ttl,
      .attempts_max = 3,
      .backoff = {.first = 1s, .most = 30s},
      .features =
          {.keyed = 0.8, .keys = 4, .other_payload = 0.1, .key_for_most = 20 * ttl, .named = 0.3, .repeated = 0.3},
      .habits = {.works_most = ttl / 2, .fails = 0.2, .dies = 0.05, .later = 0.1},
      .operators = {.act_every = ttl, .cancel = 2, .retry = 4},
      .weather = weather,
      .storm = 30 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario unique_keys{
    .name = "unique-keys",
    .summary = "unique keys, with lost replies and repeats",
    .plan = plan_of_unique_keys,
    .owes = {Count::keys_met, Count::keys_held_after, Count::key_conflicts, Count::keys_taken, Count::met_again,
             Count::batches_opened_again, Count::lost_replies, Count::duplicates, Count::kills}};

}  // namespace fenceline::sim
