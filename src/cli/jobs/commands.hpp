// The commands of jobs and queues, in the order of the help.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

CommandSpec enqueue_command();
CommandSpec work_command();
CommandSpec progress_command();
CommandSpec effect_command();
CommandSpec effects_list_command();
CommandSpec effects_resolve_command();
CommandSpec jobs_command();
CommandSpec job_show_command();
CommandSpec job_explain_command();
CommandSpec job_wait_command();
CommandSpec job_logs_command();
CommandSpec job_retry_command();
CommandSpec job_cancel_command();
CommandSpec queue_list_command();
CommandSpec queue_show_command();
CommandSpec queue_set_command();
CommandSpec queue_pause_command();
CommandSpec queue_resume_command();
CommandSpec queue_purge_command();
CommandSpec queue_rewind_command();
CommandSpec dead_list_command();
CommandSpec dead_redrive_command();
CommandSpec guardian_command();  // hidden: the parent of a handler's process

}  // namespace fenceline::cli
