// Every command of the program.
#pragma once

#include <vector>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// As the help shows them: grouped by what people do. Hidden commands are in none of them.
std::vector<CommandGroup> command_groups();

// Of all groups, in their order, and then the hidden ones.
std::vector<CommandSpec> all_commands();

}  // namespace fenceline::cli
