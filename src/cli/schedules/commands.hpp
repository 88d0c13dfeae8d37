// The commands of `fenceline schedule`, in the order of the help.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

CommandSpec schedule_add_command();
CommandSpec schedule_list_command();
CommandSpec schedule_show_command();
CommandSpec schedule_next_command();
CommandSpec schedule_pause_command();
CommandSpec schedule_resume_command();
CommandSpec schedule_remove_command();
CommandSpec schedule_run_command();
CommandSpec schedule_history_command();
CommandSpec schedule_import_command();
CommandSpec schedule_rewind_command();

}  // namespace fenceline::cli
