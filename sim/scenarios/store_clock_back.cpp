// The store's wall clock is set back again and again, by hours or days, between crashes, leaps ahead and tidying.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_store_clock_back(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  Weather weather = bad_messages(ttl, 0.02);
  weather.wall_back_every = 8 * ttl;
  weather.wall_back_most = random.chance(0.5) ? Duration{1h} : Duration{72h};
  weather.wall_leap_every = 4 * ttl;
  weather.wall_leap_most = 48h;
  weather.crash_every = 8 * ttl;
  weather.unsaved_most = ttl / 5;
  weather.down_most = ttl;
  weather.kill_every = 20 * ttl / hosts;
  weather.pause_every = 20 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.job_delay_most = 2 * ttl;
  plan.features.key_for_most = 24h;
  plan.features.repeated = 0.5;
  plan.settings = {.limit_per_key = 2, .keep_done = 24h, .keep_dead = 24h};
  plan.habits = {.works_most = ttl, .fails = 0.1, .dies = 0.1, .later = 0.05};
  plan.operators = {.act_every = ttl, .cancel = 2, .retry = 2, .tidy = 4};
  return plan;
}

}  // namespace

const Scenario store_clock_back{
    .name = "store-clock-back",
    .summary = "the store's wall clock set back, between crashes and tidying",
    .plan = plan_of_store_clock_back,
    .owes = {Count::wall_set_back, Count::wall_leaps, Count::store_crashes, Count::calls_unsaved, Count::tidied,
             Count::made_anew, Count::takeovers, Count::retried, Count::cancelled_running, Count::keys_held_after}};

}  // namespace fenceline::sim
