// The doctor's look at settings: what src/doctor/config.hpp needs to know of this invocation.
#pragma once

#include <vector>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// Errors: the store's.
Result<std::vector<Finding>> config_findings(const Invocation& invocation, Store& store);

}  // namespace fenceline::cli
