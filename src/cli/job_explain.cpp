// fenceline job explain: why a job does not run, or what became of it.
#include <nlohmann/json.hpp>

#include "cli/acts.hpp"
#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/output.hpp"

namespace fenceline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kEntriesLookedAt = 10'000;

// Who cancelled the job, or purged its queue: the entry of the very step that finished it. Empty if that is long ago.
std::optional<Act> cancelled_by(const Invocation& invocation, Store& store, const Job& job) {
  if (job.state != JobState::cancelled) return std::nullopt;
  const Result<std::vector<TrailEntry>> trail = store.trail(invocation.ns, kEntriesLookedAt);
  if (!trail) return std::nullopt;
  const std::string id = to_string(job.id);
  for (auto entry = trail->rbegin(); entry != trail->rend(); ++entry) {
    if (entry->at != job.finished_at) continue;
    const bool itself = entry->act == "job_cancelled" && entry->subject == id;
    const bool its_queue = entry->act == "queue_purged" && entry->subject.starts_with(job.queue + ":");
    if (itself || its_queue) return Act{entry->actor, entry->reason};
  }
  return std::nullopt;
}

Result<int> run(Invocation& invocation) {
  const Result<JobId> id = id_of(invocation);
  if (!id) return std::unexpected(id.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::optional<JobFacts>> facts = (*store)->facts(invocation.ns, *id);
  if (!facts) return std::unexpected(facts.error());
  if (!*facts) return std::unexpected(no_such_job(*id, invocation.ns));
  const Job& job = (*facts)->job;
  const std::vector<Reason> reasons = explain(**facts, invocation.runtime->wall_now(), cancelled_by(invocation, **store, job));
  if (!invocation.json) {
    print_line("job " + to_string(*id) + " of queue " + job.queue + " is " + std::string(to_string(job.state)));
    for (const Reason& reason : reasons) print_line("- " + reason.sentence);
    return kExitOk;
  }
  Json list = Json::array();
  for (const Reason& reason : reasons) list.push_back({{"reason", reason.name}, {"text", reason.sentence}});
  print_line(Json{{"id", to_string(*id)}, {"queue", job.queue}, {"state", to_string(job.state)}, {"reasons", list}}.dump());
  return kExitOk;
}

}  // namespace

CommandSpec job_explain_command() {
  return {.name = "job explain",
          .summary = "Says why a job does not run, who has it, or what became of it: one sentence for each reason.",
          .arguments = {{"ID", "the job's id, as enqueue printed it"}},
          .examples = {{"fenceline job explain $ID", "what is it waiting for?"},
                       {"fenceline job explain $ID --json | jq -r '.reasons[].reason'", "the same as words for a script"}},
          .run = run};
}

}  // namespace fenceline::cli
