// The drills as commands, in the order of the help.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

CommandSpec drill_lease_expiry_command();
CommandSpec drill_kill_command();
CommandSpec drill_pause_command();
CommandSpec drill_clock_command();
CommandSpec drill_disk_full_command();
CommandSpec drill_store_restart_command();
CommandSpec drill_store_pause_command();
CommandSpec drill_terminate_command();
CommandSpec drill_cut_command();
CommandSpec drill_lock_job_command();
CommandSpec drill_lock_loop_command();
CommandSpec drill_lock_run_command();
CommandSpec drill_lock_writer_command();
CommandSpec drill_operator_command();
CommandSpec drill_worker_command();  // hidden: one side of a drill
CommandSpec drill_locker_command();  // hidden: one holder of a lock in a drill

}  // namespace fenceline::cli
