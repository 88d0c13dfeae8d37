// One run of a plan with a backlog on an issue tracker. The world and its rules are those of sim/tracker.
#pragma once

#include <cstdint>

#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {

SeedReport play_tracker(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options);

}  // namespace fenceline::sim
