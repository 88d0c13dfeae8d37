// Handlers charge a provider that loses replies, while workers are killed and stopped between intent, act and done.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_effects(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = rough_weather(ttl, 0.03, hosts);
  weather.kill_at_step = 0.004;
  weather.pause_at_step = 0.004;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.jobs = static_cast<int>(random.between(6, 24));
  plan.features.keyed = 0.1;
  plan.habits.works_most = ttl / 2;
  plan.habits.speaks = 0;
  // A request travels for less than the margin of a lease: what was sent under trust has arrived before anyone takes
  // over.
  plan.effects = {.of_a_job = static_cast<int>(random.between(1, 2)),
                  .refused = 0.05,
                  .request_lost = 0.05,
                  .reply_lost = 0.2,
                  .takes_most = ttl / 80,
                  .in_parallel = 0.2,
                  .other_request = 0.05};
  plan.operators = {.act_every = ttl, .cancel = 1, .retry = 1, .resolve = 6};
  return plan;
}

}  // namespace

const Scenario effects{
    .name = "effects",
    .summary = "effects in doubt under every policy, at a provider that loses replies (E1, E2)",
    .plan = plan_of_effects,
    .owes = rough_counts({Count::effects_begun, Count::effects_done, Count::effects_none, Count::effect_doubts,
                          Count::effect_holds, Count::effect_replays, Count::effect_busy, Count::effect_conflicts,
                          Count::effects_lost, Count::late_finishes, Count::effects_resolved, Count::provider_acts,
                          Count::provider_repeats, Count::provider_lost_replies})};

}  // namespace fenceline::sim
