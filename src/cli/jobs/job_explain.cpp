// fenceline job explain: why a job does not run, or what became of it.

#include "cli/frame/acts.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/explain_item.hpp"
#include "cli/pipelines/pipeline_view.hpp"
#include "services/pipeline_book.hpp"

namespace fenceline::cli {
namespace {

constexpr int kEntriesLookedAt = 10'000;

// The job was cancelled, or its queue purged: by the very step that finished it.
bool ended(const TrailEntry& entry, const Job& job) {
  if (entry.at != job.finished_at) return false;
  const bool itself = entry.act == "job_cancelled" && entry.subject == to_string(job.id);
  return itself || (entry.act == "queue_purged" && entry.subject.starts_with(job.queue + ":"));
}

// Those that the sentences name. Empty if they are long ago.
KnownActs known_acts(const Invocation& invocation, Store& store, const JobFacts& facts) {
  KnownActs acts;
  const bool cancelled = facts.job.state == JobState::cancelled;
  if (!cancelled && facts.quiet_workers.empty()) return acts;
  const Result<std::vector<TrailEntry>> trail = store.trail(invocation.ns, kEntriesLookedAt);
  if (!trail) return acts;
  for (const TrailEntry& entry : *trail) {  // the newest one last
    if (cancelled && ended(entry, facts.job)) acts.ended = Act{entry.actor, entry.reason};
    if (entry.act == "worker_quiet") acts.quieted[entry.subject] = {entry.actor, entry.reason};
  }
  return acts;
}

// A job that does not wait may have left a doubt all the same: its worker died, or it was cancelled.
void add_doubts(const Invocation& invocation, Store& store, const Job& job, std::vector<Reason>& reasons) {
  const Result<EffectsReply> doubts = store.effects({.ns = invocation.ns, .job = job.id, .in_doubt = true});
  if (!doubts) return;
  for (const Effect& effect : doubts->effects)
    reasons.push_back({"effect_in_doubt", "its effect " + effect.name + " is in doubt; its next delivery decides by '" +
                                              std::string(to_string(effect.policy)) +
                                              "', or resolve it: fenceline effects resolve " + to_string(job.id) + " " +
                                              effect.name + " --done, or --none"});
}

// What its pipeline has to say, if it is an item of one.
void add_pipeline(const Invocation& invocation, Store& store, const JobFacts& facts, std::vector<Reason>& reasons) {
  const Result<std::optional<KnownPipeline>> pipeline = read_pipeline(store, invocation.ns, facts.job.queue);
  if (!pipeline || !*pipeline) return;
  const Result<ItemsReply> read = store.items({.ns = invocation.ns, .ids = {facts.job.id}});
  if (!read || read->items.empty()) return;
  const Result<ItemNow> item = item_now(read->items.front());
  if (item) reasons = explain_item((*pipeline)->spec, *item, facts, std::move(reasons));
}

// Errors: not_found.
Result<void> explain_one(const Invocation& invocation, Store& store, const JobId& id) {
  const Result<std::optional<JobFacts>> facts = store.facts(invocation.ns, id);
  if (!facts) return std::unexpected(facts.error());
  if (!*facts) return std::unexpected(no_such_job(id, invocation.ns));
  const Job& job = (*facts)->job;
  std::vector<Reason> reasons =
      explain(**facts, invocation.runtime->wall_now(), known_acts(invocation, store, **facts));
  if (job.state != JobState::waiting) add_doubts(invocation, store, job, reasons);
  add_pipeline(invocation, store, **facts, reasons);
  const std::string state(to_string(StageNames(store, invocation.ns).shown_state(job.queue, job.stage, job.state)));
  if (!invocation.json) {
    print_line("job " + to_string(id) + " of queue " + job.queue + " is " + state);
    for (const Reason& reason : reasons) {
      if (stdout_is_terminal()) print(reason_lines(reason.sentence, static_cast<std::size_t>(terminal_width())));
      else print_line("- " + reason.sentence);
    }
    return {};
  }
  Json list = Json::array();
  for (const Reason& reason : reasons) list.push_back({{"reason", reason.name}, {"text", reason.sentence}});
  print_line(Json{{"id", to_string(id)}, {"queue", job.queue}, {"state", state}, {"reasons", list}}.dump());
  return {};
}

Result<int> run_job_explain(Invocation& invocation) { return look_at_each(invocation, explain_one); }

}  // namespace

CommandSpec job_explain_command() {
  return {.name = "job explain",
          .summary = "Say why jobs do not run, who runs them or how they ended",
          .details = "Prints one sentence for each reason.",
          .arguments = {{"ID", kIdsHelp, true, true}},
          .examples = {{"fenceline job explain $ID", "why does it not run?"},
                       {"fenceline job explain $ID --json | jq -r '.reasons[].reason'",
                        "the reasons as words, for a script"}},
          .run = run_job_explain};
}

}  // namespace fenceline::cli
