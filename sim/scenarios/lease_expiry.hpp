#pragma once

#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {

extern const Scenario lease_expiry;

}  // namespace fenceline::sim
