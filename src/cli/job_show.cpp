// fenceline job show: all that is known of one job.
#include "cli/command.hpp"
#include "cli/job_view.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

Result<int> run(Invocation& invocation) {
  const std::string text = invocation.argument("ID");
  const std::optional<JobId> id = parse_uuid(text);
  if (!id) return fail(Code::invalid, "'" + printable(text, 40) + "' is no job id; use one that enqueue or jobs printed, 36 characters");
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::optional<Job>> job = (*store)->job(invocation.ns, *id);
  if (!job) return std::unexpected(job.error());
  if (!*job) return fail(Code::not_found, "no job " + to_string(*id) + " in namespace " + invocation.ns + "; 'fenceline jobs' lists them");
  const JobShown shown{.result = true, .payload = invocation.has("--payload")};
  if (invocation.json) print_line(job_json(**job, shown));
  else print_table(job_card(**job, shown), false);
  return kExitOk;
}

}  // namespace

CommandSpec job_show_command() {
  return {.name = "job show",
          .summary = "Shows one job with its result.",
          .arguments = {{"ID", "the job's id, as enqueue printed it"}},
          .options = {{"--payload", "", "its payload too"}},
          .examples = {{"fenceline job show 0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10", "state, counters, last error, result"},
                       {"fenceline job show --json --payload $ID | jq .payload", "what the producer sent"}},
          .run = run};
}

}  // namespace fenceline::cli
