// The commands of pipelines and issue trackers, in the order of the help.
#pragma once

#include "cli/frame/command.hpp"

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
CommandSpec tracker_key_command();
CommandSpec tracker_sweep_command();
CommandSpec tracker_whoami_command();

}  // namespace fenceline::cli
