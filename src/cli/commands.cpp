// The list of commands, in the order of the help and of the manual.
#include "cli/commands.hpp"

#include "benches/bench.hpp"
#include "cli/frame/completion.hpp"
#include "cli/frame/completion_offers.hpp"
#include "cli/frame/man_page.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/locks/commands.hpp"
#include "cli/operate/commands.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/prove/commands.hpp"
#include "cli/schedules/commands.hpp"
#include "drills/commands.hpp"

namespace fenceline::cli {

std::vector<CommandGroup> command_groups() {
  return {
      {"Jobs",
       {{.commands = {enqueue_command()}},
        {.commands = {work_command()}},
        {.commands = {jobs_command()}},
        {"job",
         "Show, explain, wait for, retry or cancel jobs; read logs",
         {job_show_command(), job_explain_command(), job_wait_command(), job_logs_command(), job_retry_command(),
          job_cancel_command()}},
        {"queue",
         "List, show, set, pause, resume, purge or rewind queues",
         {queue_list_command(), queue_show_command(), queue_set_command(), queue_pause_command(),
          queue_resume_command(), queue_purge_command(), queue_rewind_command()}},
        {"dead",
         "List jobs that have no attempts left, or run them again",
         {dead_list_command(), dead_redrive_command()}},
        {"effects",
         "List side effects, and resolve those in doubt",
         {effects_list_command(), effects_resolve_command()}},
        {"progress, effect",
         "For handlers: report progress, do a side effect once",
         {progress_command(), effect_command()}}}},
      {"Locks",
       {{.commands = {lock_command()}},
        {.commands = {elect_command()}},
        {"locks",
         "List, show or force-release locks",
         {locks_list_command(), locks_show_command(), locks_break_command()}},
        {"gate",
         "Refuse late writes to files, by their fence",
         {gate_check_command(), gate_run_command(), gate_put_command(), gate_show_command(), gate_rebase_command()}}}},
      {"Schedules",
       {{"schedule",
         "Add, list, pause, run or remove schedules; show their ticks",
         {schedule_add_command(), schedule_list_command(), schedule_show_command(), schedule_next_command(),
          schedule_pause_command(), schedule_resume_command(), schedule_remove_command(), schedule_run_command(),
          schedule_history_command(), schedule_import_command(), schedule_rewind_command()}}}},
      {"Pipelines",
       {{"pipeline",
         "Create, show or remove pipelines",
         {pipeline_apply_command(), pipeline_show_command(), pipeline_remove_command()}},
        {"stage",
         "Approve, reject, move, hold or release an item",
         {stage_approve_command(), stage_reject_command(), stage_move_command(), stage_hold_command(),
          stage_release_command()}},
        {.commands = {board_command()}},
        {"tracker",
         "For issue trackers: make a key, repair items, show account",
         {tracker_key_command(), tracker_sweep_command(), tracker_whoami_command()}}}},
      {"Operate",
       {{.commands = {doctor_command()}},
        {.commands = {top_command()}},
        {"workers",
         "List, quiet, stop, resume or forget workers",
         {workers_list_command(), workers_quiet_command(), workers_stop_command(), workers_resume_command(),
          workers_forget_command()}},
        {.commands = {trail_command()}},
        {.commands = {migrate_command()}},
        {"backup, restore", "Copy a SQLite store in use; replace one by a copy", {backup_command(), restore_command()}},
        {"config, completion, man, version",
         "",
         {config_show_command(), completion_command(all_commands), man_command(command_groups), version_command()}}}},
      {"Prove",
       {{"drill",
         "Break real processes on purpose, and check every promise",
         {drill_lease_expiry_command(), drill_kill_command(), drill_pause_command(), drill_clock_command(),
          drill_disk_full_command(), drill_store_restart_command(), drill_store_pause_command(),
          drill_terminate_command(), drill_cut_command(), drill_lock_job_command(), drill_lock_loop_command(),
          drill_lock_run_command(), drill_lock_writer_command(), drill_operator_command()}},
        {.commands = {sim_command()}},
        {.commands = {audit_command()}},
        {.commands = {bench_command()}}}},
  };
}

std::vector<CommandSpec> all_commands() {
  std::vector<CommandSpec> commands;
  for (CommandGroup& group : command_groups()) {
    for (CommandFamily& family : group.families)
      commands.insert(commands.end(), family.commands.begin(), family.commands.end());
  }
  commands.push_back(complete_command());
  commands.push_back(guardian_command());
  commands.push_back(drill_worker_command());
  commands.push_back(drill_locker_command());
  commands.push_back(bench_part_command());
  return commands;
}

}  // namespace fenceline::cli
