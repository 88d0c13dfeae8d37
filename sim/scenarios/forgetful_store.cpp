// The store crashes and has forgotten its last moments, answers that it gave included (class C).
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_forgetful_store(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.crash_every = 4 * ttl;
  weather.unsaved_most = random.chance(0.5) ? Duration{1s} : ttl;
  weather.down_most = ttl / 2;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  weather.wall_jump_every = random.chance(0.2) ? 10 * ttl : Duration{0};
  weather.wall_jump_most = 10min;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.guarantee = GuaranteeClass::c;
  plan.habits.obstinate = 0.1;
  return plan;
}

}  // namespace

const Scenario forgetful_store{.name = "forgetful-store",
                               .summary = "a store that crashes and forgets its last moments (class C)",
                               .plan = plan_of_forgetful_store,
                               .owes = {Count::store_crashes, Count::store_down, Count::calls_forgotten,
                                        Count::granted_after_loss, Count::fences_excused, Count::takeovers,
                                        Count::refusals, Count::met_again, Count::group_handovers, Count::kills}};

}  // namespace fenceline::sim
