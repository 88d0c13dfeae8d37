// Almost everything fails, again and again: short backoffs, long histories, dead letters sent back by people.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_retry_storm(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  const int hosts = static_cast<int>(random.between(2, 3));
  const bool endless = random.chance(0.5);  // far more attempts than a history keeps
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(2, 6)),
      .prefetch = static_cast<int>(random.between(0, 3)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .jobs = static_cast<int>(random.between(5, 30)),
      .batch_most = 30,
      .enqueue_pause_most = ttl / 2,
      .job_delay_most = ttl,
      .attempts_max = endless ? 100 : static_cast<int>(random.between(3, 20)),
      .backoff = {.first = 10ms, .most = endless ? Duration{200ms} : Duration{2s}},
      .habits = {.works_most = ttl / 20,
                 .fails = endless ? 0.97 : 0.7,
                 .throws = 0.1,
                 .dies = endless ? 0 : 0.05,
                 .later = endless ? 0.02 : 0.3},
      .operators = {.act_every = 2 * ttl, .retry = 1},
      .weather = rough_weather(ttl, 0.02, hosts),
      .storm = 30 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

}  // namespace

const Scenario retry_storm{.name = "retry-storm",
                           .summary = "almost everything fails and comes back at once",
                           .plan = plan_of_retry_storm,
                           .owes = rough_counts({Count::failures, Count::laters, Count::dead_letters,
                                                 Count::histories_cut, Count::retried, Count::acts_repeated})};

}  // namespace fenceline::sim
