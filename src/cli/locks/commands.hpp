// The commands of locks and write gates, in the order of the help.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

CommandSpec gate_check_command();
CommandSpec gate_run_command();
CommandSpec gate_put_command();
CommandSpec gate_show_command();
CommandSpec gate_rebase_command();
CommandSpec lock_command();
CommandSpec elect_command();
CommandSpec locks_list_command();
CommandSpec locks_show_command();
CommandSpec locks_break_command();

}  // namespace fenceline::cli
