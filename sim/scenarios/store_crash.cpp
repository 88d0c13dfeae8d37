// The store crashes in the middle of work and comes back with all that it ever answered, and nothing else (class B).
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_store_crash(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.crash_every = 4 * ttl;
  weather.unsaved_most = ttl / 5;
  weather.down_most = ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.guarantee = GuaranteeClass::b;
  return plan;
}

}  // namespace

const Scenario store_crash{
    .name = "store-crash",
    .summary = "a store that crashes and loses only what it had not answered (class B)",
    .plan = plan_of_store_crash,
    .owes = {Count::store_crashes, Count::store_down, Count::calls_unsaved, Count::takeovers, Count::refusals,
             Count::met_again, Count::keys_met, Count::group_handovers, Count::lost_replies, Count::kills}};

}  // namespace fenceline::sim
