#include "sim/scenarios/scenario.hpp"

#include <algorithm>

#include "sim/scenarios/pipeline_world.hpp"
#include "sim/scenarios/plans.hpp"
#include "sim/scenarios/tracker_play.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {
namespace {

constexpr bool kSqliteToo = true;

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{lease_expiry,
                                         job_storm,
                                         poison,
                                         retry_storm,
                                         groups_and_limits,
                                         unique_keys,
                                         cancel_against_completion,
                                         graceful_stop,
                                         pause_and_resume,
                                         fleet_restart,
                                         retention,
                                         clock_chaos,
                                         lost_wakeups,
                                         slow_renewals,
                                         store_crash,
                                         forgetful_store,
                                         restored_snapshot,
                                         amnesia,
                                         store_clock_back,
                                         large_numbers,
                                         healthy_core,
                                         effects,
                                         gates,
                                         lock_under_chaos,
                                         lock_fairness,
                                         lock_hand_over,
                                         lock_loop_window,
                                         lock_hold_at_least,
                                         lock_delayed,
                                         lock_layered,
                                         lock_shared,
                                         lock_several,
                                         lock_election,
                                         lock_retention,
                                         lock_forgotten,
                                         server_clock,
                                         schedule_week,
                                         schedule_clocks,
                                         schedule_hour,
                                         schedule_workers,
                                         pipeline,
                                         tracker_backlog};
  return all;
}

const Scenario* find_scenario(std::string_view name) {
  const auto found = std::find_if(scenarios().begin(), scenarios().end(),
                                  [&](const Scenario& scenario) { return scenario.name == name; });
  return found == scenarios().end() ? nullptr : &*found;
}

bool needs_snapshots(const Plan& plan) {
  const Weather& weather = plan.weather;
  const bool forgets = plan.guarantee > GuaranteeClass::b && weather.crash_every != Duration{0};
  return forgets || weather.restore_every != Duration{0} || weather.amnesia_every != Duration{0};
}

Plan plan_of(const Scenario& scenario, std::uint64_t seed) {
  // The plan has a generator of its own, so that a change of the world does not change the sizes too.
  Random random(~seed);
  Plan plan = scenario.plan(random);
  plan.sqlite = kSqliteToo && seed / scenarios().size() % 4 == 3;  // for all parts of a campaign that takes turns
  // On SQLite leases run on a clock that nobody can set.
  if (needs_snapshots(plan) || plan.weather.server_ahead_every != Duration{0}) plan.sqlite = false;
  return plan;
}

SeedReport play(const Scenario& scenario, std::uint64_t seed, StackPool& stacks, const SeedOptions& options) {
  Plan plan = plan_of(scenario, seed);
  apply(options.change, plan);
  return play(plan, options.change.world.value_or(seed), stacks, options);
}

SeedReport play(const Plan& plan, std::uint64_t seed, StackPool& stacks, const SeedOptions& options) {
  if (plan.tracker.on) return play_tracker(seed, plan, stacks, options);
  if (plan.pipeline) return PipelineWorld(seed, plan, stacks, options).run();
  World world(seed, plan, stacks, options);
  return world.run();
}

}  // namespace fenceline::sim
