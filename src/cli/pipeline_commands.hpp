// The commands of pipelines, in the order of the help.
#pragma once

#include "cli/command.hpp"

namespace fenceline::cli {

CommandSpec pipeline_apply_command();
CommandSpec pipeline_show_command();
CommandSpec pipeline_remove_command();
CommandSpec stage_approve_command();
CommandSpec stage_reject_command();
CommandSpec stage_move_command();
CommandSpec stage_hold_command();
CommandSpec stage_release_command();
CommandSpec board_command();

}  // namespace fenceline::cli
