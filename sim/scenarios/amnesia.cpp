// The store comes back empty while workers hold jobs of it and clients repeat what they sent.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_amnesia(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.amnesia_every = 15 * ttl;
  weather.down_most = ttl;
  weather.wall_back_every = random.chance(0.5) ? 10 * ttl : Duration{0};
  weather.wall_back_most = 40 * ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.guarantee = GuaranteeClass::c;
  plan.features.repeated = 0.8;
  plan.habits.works_most = 2 * ttl;
  plan.habits.obstinate = 0.1;
  return plan;
}

}  // namespace

const Scenario amnesia{.name = "amnesia",
                       .summary = "a store that comes back empty, under running workers",
                       .plan = plan_of_amnesia,
                       .owes = {Count::amnesias, Count::calls_forgotten, Count::granted_after_loss,
                                Count::fences_excused, Count::refusals, Count::notes_refused, Count::store_down}};

}  // namespace fenceline::sim
