// The commands of operators, in the order of the help.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

CommandSpec workers_list_command();
CommandSpec workers_quiet_command();
CommandSpec workers_stop_command();
CommandSpec workers_resume_command();
CommandSpec workers_forget_command();
CommandSpec trail_command();
CommandSpec migrate_command();
CommandSpec backup_command();
CommandSpec restore_command();
CommandSpec doctor_command();
CommandSpec top_command();
CommandSpec config_show_command();
CommandSpec version_command();

}  // namespace fenceline::cli
