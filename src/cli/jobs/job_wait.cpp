// fenceline job wait: until jobs are finished; their status becomes this program's own.
#include "services/job_wait.hpp"

#include <utility>

#include "base/duration_text.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/job_view.hpp"

namespace fenceline::cli {
namespace {

// 0 for done; of a dead job the status of its command, if it had one that tells.
int status_of(const Job& job) {
  if (job.state == JobState::done) return kExitOk;
  if (job.state == JobState::dead && job.exit_status.value_or(0) != 0) return *job.exit_status;
  return kExitFound;
}

// Errors: not_found.
Result<Job> look_at(const Invocation& invocation, Store& store, const JobId& id) {
  const Result<std::optional<Job>> job = store.job(invocation.ns, id);
  if (!job) return std::unexpected(job.error());
  if (!*job) return std::unexpected(no_such_job(id, invocation.ns));
  return **job;
}

// Empty: not in time, or asked to stop.
Result<std::optional<Job>> finished(const Invocation& invocation, Store& store, const JobId& id,
                                    std::optional<Instant> until) {
  bool told_of_wait = false;
  bool told_of_store = false;
  const auto looked = [&](const Result<Job>& job) {
    if (!job && !std::exchange(told_of_store, true))
      tell("fenceline: " + job.error().message + "; waiting for the store");
    if (job && job->state == JobState::waiting && !std::exchange(told_of_wait, true))
      tell("fenceline: job " + to_string(id) + " waits for a person; see 'fenceline job explain " + to_string(id) +
           "'");
  };
  return wait_until_finished(*invocation.runtime, store, id, {.ns = invocation.ns, .until = until, .looked = looked},
                             invocation.stop);
}

void print_finished(const Job& job, bool json, bool only) {
  if (json) {
    print_line(job_json(job, {.result = true}));
  } else if (job.state == JobState::done) {
    // In a pipe, one result is passed on as it is, byte for byte.
    print_foreign(job.result);
    if (!job.result.empty() && !job.result.ends_with('\n') && (!only || stdout_is_terminal())) print("\n");
  } else {
    tell("fenceline: job " + to_string(job.id) + " is " + std::string(to_string(job.state)) +
         (job.state == JobState::dead && !job.error.empty() ? ": " + printable(one_line(job.error), 400) : ""));
  }
  flush_output();
}

Result<int> run_job_wait(Invocation& invocation) {
  const Result<Duration> patience =
      invocation.duration("--timeout", kWaitRange.most, kWaitRange.least, kWaitRange.most);
  if (!patience) return std::unexpected(patience.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<JobId>> ids = ids_of(invocation, **store);
  if (!ids) return std::unexpected(ids.error());

  for (const JobId& id : *ids) {  // first of all: a mistyped id must not wait for its turn
    if (const Result<Job> job = look_at(invocation, **store, id); !job) return std::unexpected(job.error());
  }
  const std::optional<Instant> until =
      invocation.has("--timeout") ? std::optional(invocation.runtime->now() + *patience) : std::nullopt;
  int status = kExitOk;
  bool in_time = true;
  for (const JobId& id : *ids) {  // to the last one, also when the time is over: some may be finished
    const Result<std::optional<Job>> job = finished(invocation, **store, id, until);
    if (!job) return std::unexpected(job.error());
    if (!*job) {
      if (invocation.stop.stop_requested()) return interrupted_exit();
      tell("fenceline: job " + to_string(id) + " has not finished after " + format_duration(*patience) +
           "; see 'fenceline job explain " + to_string(id) + "'");
      in_time = false;
      continue;
    }
    print_finished(**job, invocation.json, ids->size() == 1);
    if (status == kExitOk) status = status_of(**job);
  }
  return in_time ? status : kExitTryLater;
}

}  // namespace

CommandSpec job_wait_command() {
  return {.name = "job wait",
          .summary = "Wait until jobs finish and print their results",
          .details = "The exit code tells how they ended.",
          .arguments = {{"ID", kIdsHelp, true, true}},
          .options = {{"--timeout", "D", "give up after this long, 0s to 24h; default never"}},
          .sections = {{"Exit status, of the first job that is not done",
                        {{"75", "a job did not finish in time; this takes precedence"},
                         {"0", "done"},
                         {"status of the command", "dead, and its last attempt exited with a status other than 0"},
                         {"1", "dead otherwise, or cancelled"},
                         {"66", "no such job"}}}},
          .examples = {{"fenceline job wait $(fenceline enqueue thumbs --payload '\"a.png\"')",
                        "run something on another machine and get its result"},
                       {"fenceline job wait $ID --timeout 5m || echo failed", "for a script"}},
          .run = run_job_wait};
}

}  // namespace fenceline::cli
