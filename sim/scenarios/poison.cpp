// A few jobs that kill their worker among very many that do not, and claims whose replies are lost.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_poison(Random& random) {
  constexpr Duration kTtls[] = {2s, 10s, 30s};
  const Duration ttl = kTtls[random.below(std::size(kTtls))];
  Weather weather = bad_messages(ttl, 0.01);
  weather.drop_reply = random.chance(0.5) ? 0.1 : 0.01;
  weather.restart_most = ttl / 4;
  return {
      .hosts = static_cast<int>(random.between(1, 2)),
      .concurrency = static_cast<int>(random.between(1, 8)),
      .prefetch = static_cast<int>(random.between(0, 8)),
      .ttl = ttl,
      .jobs = random.chance(0.1) ? 1000 : static_cast<int>(random.between(30, 200)),
      .batch_most = 100,
      .enqueue_pause_most = ttl / 10,
      .delayed = 0,
      .poison_count = static_cast<int>(random.between(1, 2)),
      .habits = {.works_most = ttl / 20},
      .weather = weather,
      .storm = 20 * ttl,
      .only_poison_dies = true,
      .compare_every = 128,
  };
}

}  // namespace

const Scenario poison{.name = "poison",
                      .summary = "jobs that kill their worker, and their many neighbours",
                      .plan = plan_of_poison,
                      .owes = {Count::poisoned, Count::died_of_losses, Count::ran_alone, Count::takeovers,
                               Count::losses, Count::lost_replies, Count::given_back}};

}  // namespace fenceline::sim
