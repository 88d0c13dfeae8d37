// The list of commands, in the order of the manual.
#include "cli/command.hpp"

namespace fenceline::cli {

std::vector<CommandSpec> all_commands() {
  std::vector<CommandSpec> commands;
  commands.push_back(enqueue_command());
  commands.push_back(work_command());
  commands.push_back(progress_command());
  commands.push_back(jobs_command());
  commands.push_back(job_show_command());
  commands.push_back(workers_list_command());
  commands.push_back(trail_command());
  commands.push_back(migrate_command());
  commands.push_back(doctor_command());
  commands.push_back(drill_lease_expiry_command());
  commands.push_back(drill_kill_command());
  commands.push_back(sim_command());
  commands.push_back(bench_command());
  commands.push_back(completion_command());
  commands.push_back(version_command());
  commands.push_back(guardian_command());
  commands.push_back(drill_worker_command());
  commands.push_back(bench_part_command());
  return commands;
}

}  // namespace fenceline::cli
