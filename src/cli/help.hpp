// Help, made from the commands themselves.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace fenceline::cli {

// What `fenceline` alone prints.
std::string overview_text(const std::vector<CommandSpec>& commands);

// `fenceline help` and `fenceline help COMMAND`.
std::string program_help(const std::vector<CommandSpec>& commands);
std::string command_help(const CommandSpec& command);

}  // namespace fenceline::cli
