// The manual page, made from the commands themselves, as help is.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// fenceline.1, in the man macros of roff.
std::string man_page(const std::vector<CommandGroup>& groups);

// Of the commands that `commands` gives, once it runs.
CommandSpec man_command(std::vector<CommandGroup> (*groups)());

}  // namespace fenceline::cli
