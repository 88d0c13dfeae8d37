#include "sim/scenarios/scenario.hpp"

#include <algorithm>

#include "sim/scenarios/job_storm.hpp"
#include "sim/scenarios/lease_expiry.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{lease_expiry, job_storm};
  return all;
}

const Scenario* find_scenario(std::string_view name) {
  const auto found = std::find_if(scenarios().begin(), scenarios().end(), [&](const Scenario& scenario) { return scenario.name == name; });
  return found == scenarios().end() ? nullptr : &*found;
}

SeedReport play(const Scenario& scenario, std::uint64_t seed, StackPool& stacks, const SeedOptions& options) {
  // The plan has a generator of its own, so that a change of the world does not change the sizes too.
  Random random(~seed);
  Plan plan = scenario.plan(random);
  plan.sqlite = seed / 2 % 4 == 3;  // for both halves of a campaign that alternates scenarios
  World world(seed, plan, stacks, options);
  return world.run();
}

}  // namespace fenceline::sim
