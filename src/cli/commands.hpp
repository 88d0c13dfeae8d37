// Every command of the program.
#pragma once

#include <vector>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// In the order of the help.
std::vector<CommandSpec> all_commands();

}  // namespace fenceline::cli
