// The list of commands, in the order of the manual.
#include "cli/commands.hpp"

#include "benches/bench.hpp"
#include "cli/frame/completion.hpp"
#include "cli/frame/man_page.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/locks/commands.hpp"
#include "cli/operate/commands.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/prove/commands.hpp"
#include "cli/schedules/commands.hpp"
#include "drills/commands.hpp"

namespace fenceline::cli {

std::vector<CommandSpec> all_commands() {
  std::vector<CommandSpec> commands;
  commands.push_back(enqueue_command());
  commands.push_back(work_command());
  commands.push_back(progress_command());
  commands.push_back(effect_command());
  commands.push_back(jobs_command());
  commands.push_back(job_show_command());
  commands.push_back(job_explain_command());
  commands.push_back(job_wait_command());
  commands.push_back(job_logs_command());
  commands.push_back(job_retry_command());
  commands.push_back(job_cancel_command());
  commands.push_back(queue_list_command());
  commands.push_back(queue_show_command());
  commands.push_back(queue_set_command());
  commands.push_back(queue_pause_command());
  commands.push_back(queue_resume_command());
  commands.push_back(queue_purge_command());
  commands.push_back(dead_list_command());
  commands.push_back(dead_redrive_command());
  commands.push_back(effects_list_command());
  commands.push_back(effects_resolve_command());
  commands.push_back(workers_list_command());
  commands.push_back(workers_quiet_command());
  commands.push_back(workers_stop_command());
  commands.push_back(workers_resume_command());
  commands.push_back(workers_forget_command());
  commands.push_back(gate_check_command());
  commands.push_back(gate_run_command());
  commands.push_back(gate_put_command());
  commands.push_back(gate_show_command());
  commands.push_back(gate_rebase_command());
  commands.push_back(lock_command());
  commands.push_back(elect_command());
  commands.push_back(locks_list_command());
  commands.push_back(locks_show_command());
  commands.push_back(locks_break_command());
  commands.push_back(schedule_add_command());
  commands.push_back(schedule_list_command());
  commands.push_back(schedule_show_command());
  commands.push_back(schedule_next_command());
  commands.push_back(schedule_pause_command());
  commands.push_back(schedule_resume_command());
  commands.push_back(schedule_remove_command());
  commands.push_back(schedule_run_command());
  commands.push_back(schedule_history_command());
  commands.push_back(schedule_import_command());
  commands.push_back(schedule_rewind_command());
  commands.push_back(pipeline_apply_command());
  commands.push_back(pipeline_show_command());
  commands.push_back(pipeline_remove_command());
  commands.push_back(stage_approve_command());
  commands.push_back(stage_reject_command());
  commands.push_back(stage_move_command());
  commands.push_back(stage_hold_command());
  commands.push_back(stage_release_command());
  commands.push_back(board_command());
  commands.push_back(tracker_sweep_command());
  commands.push_back(tracker_whoami_command());
  commands.push_back(trail_command());
  commands.push_back(migrate_command());
  commands.push_back(doctor_command());
  commands.push_back(top_command());
  commands.push_back(drill_lease_expiry_command());
  commands.push_back(drill_kill_command());
  commands.push_back(drill_pause_command());
  commands.push_back(drill_clock_command());
  commands.push_back(drill_disk_full_command());
  commands.push_back(drill_store_restart_command());
  commands.push_back(drill_store_pause_command());
  commands.push_back(drill_terminate_command());
  commands.push_back(drill_cut_command());
  commands.push_back(drill_lock_job_command());
  commands.push_back(drill_lock_loop_command());
  commands.push_back(drill_lock_run_command());
  commands.push_back(drill_lock_writer_command());
  commands.push_back(drill_operator_command());
  commands.push_back(sim_command());
  commands.push_back(audit_command());
  commands.push_back(bench_command());
  commands.push_back(config_show_command());
  commands.push_back(completion_command(all_commands));
  commands.push_back(man_command(all_commands));
  commands.push_back(version_command());
  commands.push_back(guardian_command());
  commands.push_back(drill_worker_command());
  commands.push_back(drill_locker_command());
  commands.push_back(bench_part_command());
  return commands;
}

}  // namespace fenceline::cli
