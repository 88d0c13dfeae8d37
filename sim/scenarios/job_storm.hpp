#pragma once

#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {

extern const Scenario job_storm;

}  // namespace fenceline::sim
