// fenceline jobs: the jobs of a namespace.
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/job_list.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_jobs(Invocation& invocation) {
  Result<JobsRequest> request = list_request(invocation);
  if (!request) return std::unexpected(request.error());
  if (const auto text = invocation.value("--state")) {
    request->state = parse_job_state(*text);
    if (!request->state)
      return std::unexpected(usage_error("--state '" + printable(*text, 40) +
                                         "' is not a state; use ready, running, waiting, done, dead or cancelled"));
  }
  return list_jobs(invocation, std::move(*request));
}

}  // namespace

CommandSpec jobs_command() {
  std::vector<OptionSpec> options = with_options(filter_options(), page_options());
  options.insert(options.begin() + 1,
                 {"--state", "ready|running|waiting|done|dead|cancelled", "only jobs in this state"});
  return {.name = "jobs",
          .summary = "List jobs, newest first, with filters",
          .details = "100 at a time. An item of a pipeline that waits for approval is listed as waiting.",
          .options = std::move(options),
          .sections =
              {{"States",
                {{"ready",
                  "not started, or to be retried: now, at its run_at, or when its group, a limit or a pause allows it"},
                 {"running", "a worker has its lease, or the lease expired and no worker has taken it over yet"},
                 {"waiting", "waits for a person: an approval, a hold, an effect in doubt; see 'job explain'"},
                 {"done", "finished successfully"},
                 {"dead", "no attempts left; 'dead redrive' or 'job retry' runs it again"},
                 {"cancelled", "cancelled by a person or a purge; 'job retry' runs it anyway"}}},
               {"Columns on a terminal",
                {{"id", "its last 8 characters, which commands accept; pipes and --json have the whole id"},
                 {"age", "time since it was enqueued"},
                 {"duration", "how long its last attempt took, or has taken so far"},
                 {"progress, holder", "what it reported, and which worker runs it; from 100 columns on"}}}},
          .examples = {{"fenceline jobs --queue mail --state dead", "dead jobs of one queue"},
                       {"fenceline jobs --all --json | jq -r '.jobs[] | select(.failures > 0) | .id'",
                        "ids of all jobs that failed since they were enqueued or redriven"},
                       {"fenceline jobs --tag customer=7 --since 1d", "jobs with a tag, enqueued in the last 24 hours"},
                       {"fenceline jobs --key order-17", "jobs with a unique key"}},
          .run = run_jobs};
}

}  // namespace fenceline::cli
