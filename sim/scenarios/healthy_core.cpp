// Liveness: one or two workers are well, all others are stopped, cut off or dying for ever, and everything ends.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_healthy_core(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  const Weather weather = rough_weather(ttl, 0.03, hosts);
  const int healthy = static_cast<int>(random.between(1, 2));
  Plan plan = busy_plan(random, ttl, hosts + 2, weather);
  plan.healthy_hosts = healthy;
  plan.habits.obstinate = 0.1;
  plan.habits.speaks = 0;
  return plan;
}

}  // namespace

const Scenario healthy_core{
    .name = "healthy-core",
    .summary = "a few healthy workers among others with faults that never end (J8)",
    .plan = plan_of_healthy_core,
    .owes = rough_counts({Count::paused_for_ever, Count::cut_off_for_ever, Count::cut_one_way_for_ever,
                          Count::dying_for_ever, Count::given_back})};

}  // namespace fenceline::sim
