// Someone puts an old snapshot in the place of the store while everyone works on; its machine may have an older clock.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_restored_snapshot(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.restore_every = 10 * ttl;
  weather.restore_age_most = 20 * ttl;
  weather.down_most = ttl;
  weather.wall_back_most = random.chance(0.5) ? Duration{0} : 30 * ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.guarantee = GuaranteeClass::c;
  plan.habits.obstinate = 0.1;
  return plan;
}

}  // namespace

const Scenario restored_snapshot{
    .name = "restored-snapshot",
    .summary = "an old snapshot in the place of the store, under running workers",
    .plan = plan_of_restored_snapshot,
    .owes = {Count::restores, Count::calls_forgotten, Count::granted_after_loss, Count::fences_excused,
             Count::wall_set_back, Count::takeovers, Count::refusals, Count::met_again, Count::store_down}};

}  // namespace fenceline::sim
