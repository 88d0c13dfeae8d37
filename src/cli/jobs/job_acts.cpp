// fenceline job retry and job cancel.

#include "cli/frame/acts.hpp"
#include "cli/jobs/act_report.hpp"
#include "cli/jobs/commands.hpp"

namespace fenceline::cli {
namespace {

using Verb = Result<ActReply> (Store::*)(const ActRequest&);

Result<int> act_on(Invocation& invocation, Verb verb, std::string_view done) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  Result<std::vector<JobId>> ids = ids_of(invocation, **store);
  if (!ids) return std::unexpected(ids.error());
  const ActRequest request{
      .ns = invocation.ns, .ids = std::move(*ids), .request = fresh_request(*invocation.runtime), .act = *act};
  const Result<ActReply> reply = store->until_known(invocation.stop, [&] { return ((**store).*verb)(request); });
  if (!reply) return std::unexpected(reply.error());
  return report_act(invocation, request.ids, *reply, done);
}

const SectionSpec kSeveral{
    "Several ids",
    {{"not there, refused", "are named; the others are changed, and the exit status is that of the first error"},
     {"not an id, or ambiguous", "nothing is changed"}}};

Result<int> run_job_retry(Invocation& invocation) { return act_on(invocation, &Store::retry, "retried"); }
Result<int> run_job_cancel(Invocation& invocation) { return act_on(invocation, &Store::cancel, "cancelled"); }

}  // namespace

CommandSpec job_retry_command() {
  return {.name = "job retry",
          .summary = "Run jobs again now",
          .details = "Dead and cancelled jobs start over with all their attempts. Prints the ids.",
          .arguments = {{"ID", kIdsHelp, true, true}},
          .options = with_act_options(),
          .sections = {{"Effect by state",
                        {{"dead, cancelled", "ready, with all its attempts, at the end of its group"},
                         {"ready", "runs now, without its delay"},
                         {"running", "its process is stopped within a second, and it runs again"},
                         {"waiting", "refused: resolve its effect first with 'effects resolve'"},
                         {"done", "refused: enqueue it again"}}},
                       kSeveral},
          .examples = {{"fenceline job retry $ID --reason 'the disk has room again'",
                        "run it again from the first attempt"}},
          .run = run_job_retry};
}

CommandSpec job_cancel_command() {
  return {.name = "job cancel",
          .summary = "Cancel jobs",
          .details = "The process of a running job is stopped within a second. Prints the ids.",
          .arguments = {{"ID", kIdsHelp, true, true}},
          .options = with_act_options(),
          .sections = {kSeveral},
          .examples = {{"fenceline job cancel $ID --reason 'wrong address'", "stop it permanently"}},
          .run = run_job_cancel};
}

}  // namespace fenceline::cli
