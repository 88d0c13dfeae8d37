// A failing seed, reduced: fewer jobs, hosts, kinds of faults and features, a shorter storm, as long as the same
// promise is still broken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {

struct ShrinkOptions {
  int tries_most = 1000;
  SeedOptions seed_options;  // as the seed was played; a stop ends it with the best so far
  std::function<void(int tries, std::int64_t operations)> progress = {};
};

struct Shrunk {
  PlanChange change;
  std::vector<Violation> violations;
  std::int64_t operations = 0;         // until the promise was broken
  std::int64_t operations_before = 0;  // in the seed as it was
  int tries = 0;
};

// Empty if the seed breaks no promise. The same seed gives the same answer.
std::optional<Shrunk> shrink(const Scenario& scenario, std::uint64_t seed, StackPool& stacks,
                             const ShrinkOptions& options = {});

// "fenceline sim --scenario job-storm --seed 8841 --shrunk jobs=2,on=pause"
std::string repeat_line(const Scenario& scenario, std::uint64_t seed, const PlanChange& change);

}  // namespace fenceline::sim
