// fenceline job show: all that is known of one job.
#include "cli/acts.hpp"
#include "cli/command.hpp"
#include "cli/job_view.hpp"
#include "cli/output.hpp"

namespace fenceline::cli {
namespace {

Result<int> run(Invocation& invocation) {
  const Result<JobId> id = id_of(invocation);
  if (!id) return std::unexpected(id.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::optional<Job>> job = (*store)->job(invocation.ns, *id);
  if (!job) return std::unexpected(job.error());
  if (!*job) return std::unexpected(no_such_job(*id, invocation.ns));
  const Result<std::vector<Attempt>> attempts = (*store)->attempts(invocation.ns, *id);
  if (!attempts) return std::unexpected(attempts.error());
  const JobShown shown{.result = true, .payload = invocation.has("--payload")};
  if (invocation.json) {
    std::string text = job_json(**job, shown);
    text.insert(text.size() - 1, ",\"attempts\":" + attempts_json(*attempts));
    print_line(text);
  } else {
    print_card(job_card(**job, *attempts, shown));
  }
  return kExitOk;
}

}  // namespace

CommandSpec job_show_command() {
  return {.name = "job show",
          .summary = "Shows all that is known of one job: state, attempts, progress, result.",
          .arguments = {{"ID", "the job's id, as enqueue printed it"}},
          .options = {{"--payload", "", "its payload too"}},
          .examples = {{"fenceline job show 0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10", "state, counters, attempts, result"},
                       {"fenceline job show --json --payload $ID | jq .payload", "what the producer sent"}},
          .run = run};
}

}  // namespace fenceline::cli
