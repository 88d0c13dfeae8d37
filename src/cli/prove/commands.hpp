// The commands that prove and measure, in the order of the help. The drills are in src/drills.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

CommandSpec sim_command();
CommandSpec audit_command();
CommandSpec bench_command();

}  // namespace fenceline::cli
