// Completion scripts, made by walking the commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// For "bash", "zsh" or "fish"; empty for another shell.
std::optional<std::string> completion_script(std::string_view shell, const std::vector<CommandSpec>& commands);

// Of the commands that `commands` gives, once it runs.
CommandSpec completion_command(std::vector<CommandSpec> (*commands)());

}  // namespace fenceline::cli
