// The command `fenceline top`.
#pragma once

#include "cli/command.hpp"

namespace fenceline::cli {

CommandSpec top_command();

}  // namespace fenceline::cli
