// Handlers write through gates that remember the largest fence: holders are stopped in front of them past their lease,
// and an old snapshot takes the place of the store, at times on an older clock.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_gates(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.restore_every = 8 * ttl;
  weather.restore_age_most = 20 * ttl;
  weather.down_most = ttl;
  weather.wall_back_most = 60 * ttl;
  weather.wall_back_every = 15 * ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 10 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  weather.pause_at_step = 0.005;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.guarantee = GuaranteeClass::c;
  plan.habits.works_most = ttl / 2;
  plan.habits.obstinate = 0.1;
  plan.habits.gated = true;
  plan.operators = {.act_every = 2 * ttl, .cancel = 1, .retry = 2, .rebase = 3};
  return plan;
}

}  // namespace

const Scenario gates{
    .name = "gates",
    .summary = "holders stopped in front of a gate, and a restored store whose gates remember more",
    .plan = plan_of_gates,
    .owes = {Count::gate_passes, Count::gate_stale, Count::gate_behind, Count::gate_recovered, Count::floors_raised,
             Count::restores, Count::wall_set_back, Count::pauses, Count::takeovers}};

}  // namespace fenceline::sim
