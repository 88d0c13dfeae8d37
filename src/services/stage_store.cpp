#include "services/stage_store.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/verdict_text.hpp"
#include "services/act_patience.hpp"
#include "services/fresh_id.hpp"
#include "services/item_acts.hpp"
#include "services/stage_outcome.hpp"

namespace fenceline {
namespace {

constexpr Duration kUnreadablePause = std::chrono::seconds{10};  // for workers that can read it
const Act kByWorker{.actor = "worker", .reason = ""};

bool has_pipeline(const KnownPipelines& known, const std::vector<std::string>& queues) {
  return std::ranges::any_of(queues, [&](const std::string& queue) { return known.contains(queue); });
}

// As the store has it: the first stage of a pipeline has no name there.
std::string stored(const KnownPipelines& known, const std::string& queue, const std::string& stage) {
  const auto found = known.find(queue);
  return found != known.end() && found->second.readable() && found->second.spec.first().name == stage ? "" : stage;
}

// Those that are served together: in which the stage is stored alike. The first group is that of the first queue. A
// queue whose pipeline is of a newer version is left to workers that can read it.
struct Served {
  std::string stage;
  std::vector<std::string> queues;
};
std::vector<Served> groups_of(const KnownPipelines& known, const std::vector<std::string>& queues,
                              const std::string& stage) {
  std::vector<Served> groups;
  for (const std::string& queue : queues) {
    if (const auto found = known.find(queue); found != known.end() && !found->second.readable()) continue;
    const std::string as = stored(known, queue, stage);
    const auto group = std::ranges::find(groups, as, &Served::stage);
    if (group == groups.end()) groups.push_back({as, {queue}});
    else group->queues.push_back(queue);
  }
  return groups;
}

// For what knows one stage only.
std::string stored(const KnownPipelines& known, const std::vector<std::string>& queues, const std::string& stage) {
  return queues.empty() ? stage : stored(known, queues.front(), stage);
}

void add(BacklogReply& sum, const BacklogReply& more, bool worked_here) {
  sum.running |= worked_here && more.running;
  sum.claimable |= worked_here && more.claimable;
  sum.ahead += more.ahead;
  sum.blocked += more.blocked;
  if (more.next_due) sum.next_due = std::min(sum.next_due.value_or(*more.next_due), *more.next_due);
}

// Nothing is known of the call that was under way, but what it granted can be asked for again.
Error in_doubt(const Error& error) {
  if (error.code != Code::unavailable) return error;
  return {Code::in_doubt, without_verdict(error.message)};
}

// Where an outcome led. Empty if that is not a stage of the pipeline.
std::optional<ItemMoved> moved_to(const PipelineSpec& spec, const Settlement& settlement, const std::string& stage) {
  const std::optional<Position> at = position_of(spec, stage);
  if (!at) return std::nullopt;
  const StageSpec& to = spec.stages[at->stage];
  return ItemMoved{.id = settlement.id,
                   .fence = settlement.fence,
                   .to = to.name,
                   .waits = at->at_entry ? std::string(to_string(to.entry.kind)) : ""};
}

void as_its_stage_says(const PipelineSpec& spec, const ItemNow& item, Job& job) {
  const std::optional<Position> at = position_of(spec, job.stage);
  if (!at) return;
  if (std::optional<std::string> input = input_of(spec, item)) job.payload = std::move(*input);
  const StageSpec& stage = spec.stages[at->stage];
  job.stage = stage.name;
  if (at->at_entry) {
    job.timeout = kCheckTimeout;
    return;
  }
  if (stage.timeout > Duration{0}) job.timeout = stage.timeout;
  if (stage.attempts > 0) job.attempts_max = stage.attempts;
}

}  // namespace

bool is_looked_after(const StageEntry& entry, bool run_checks) {
  return entry.kind == EntryKind::check ? run_checks : entry.kind == EntryKind::approval;
}

StageStore::StageStore(Runtime& runtime, Store& inner, StageStoreOptions options)
    : ForwardingStore(inner),
      runtime_(runtime),
      options_(std::move(options)),
      book_(std::make_shared<PipelineBook>(runtime, inner, options_.ns, options_.queues)),
      all_(std::make_shared<PipelineBook>(runtime, inner, options_.ns, std::vector<std::string>{})) {}

StageStore::StageStore(const StageStore& like, StageEntry entry)
    : ForwardingStore(like.inner_),
      runtime_(like.runtime_),
      options_(like.options_),
      entry_(std::move(entry)),
      book_(like.book_),
      all_(like.all_) {}

Result<ClaimReply> StageStore::claim(const ClaimRequest& request) {
  const Result<Known> known = book_->recent();
  if (!known) return std::unexpected(known.error());
  if (entry_ && std::ranges::none_of(request.queues, [&](const std::string& queue) {
        return is_its_entry(**known, queue, request.stage);
      }))
    return ClaimReply{};
  if (!has_pipeline(**known, request.queues)) return inner_.claim(request);
  const std::vector<Served> groups = groups_of(**known, request.queues, request.stage);
  if (groups.empty()) return ClaimReply{};
  Served served = groups.front();
  ClaimRequest asked = request;
  asked.stage = std::move(served.stage);
  asked.queues = std::move(served.queues);
  Result<ClaimReply> reply = inner_.claim(asked);
  if (!reply || reply->jobs.empty()) return reply;
  const Result<Known> fresh = book_->fresh();
  if (!fresh) return std::unexpected(in_doubt(fresh.error()));
  if (auto ok = give_back_strays(request, **fresh, *reply); !ok) return std::unexpected(in_doubt(ok.error()));
  if (auto ok = keep_what_may_run(asked, **fresh, *reply); !ok) return std::unexpected(in_doubt(ok.error()));
  return reply;
}

bool StageStore::is_its_entry(const KnownPipelines& known, const std::string& queue, const std::string& stage) const {
  const auto found = known.find(queue);
  if (found == known.end()) return false;
  const std::optional<Position> at = position_of(found->second.spec, stage);
  return at && at->at_entry && found->second.spec.stages[at->stage].entry == entry_;
}

// What was claimed by an older spec, and is no work of the worker that asked any more.
Result<void> StageStore::give_back_strays(const ClaimRequest& request, const KnownPipelines& known, ClaimReply& reply) {
  SettleRequest back{.ns = request.ns, .owner = request.owner, .settlements = {}};
  std::erase_if(reply.jobs, [&](const ClaimedJob& claimed) {
    const Job& job = claimed.job;
    const auto found = known.find(job.queue);
    const bool stray = (found != known.end() && !found->second.readable()) ||
                       stored(known, job.queue, request.stage) != job.stage ||
                       (entry_ && !is_its_entry(known, job.queue, job.stage));
    if (stray) back.settlements.push_back({job.id, job.fence, {.kind = OutcomeKind::given_back}});
    return stray;
  });
  if (back.settlements.empty()) return {};
  const Result<SettleReply> gone = inner_.settle(back);
  if (!gone) return std::unexpected(gone.error());
  return {};
}

// What must not run goes back at no cost, and is then put on waiting if nobody has it since: whoever has it by then has
// looked at it in the same way.
Result<void> StageStore::keep_what_may_run(const ClaimRequest& request, const KnownPipelines& known,
                                           ClaimReply& reply) {
  std::set<JobId> unsure;
  for (const ClaimedJob& claimed : reply.jobs) {
    if (known.contains(claimed.job.queue)) unsure.insert(claimed.job.id);
  }
  if (unsure.empty()) return {};
  const Result<ItemsReply> read = inner_.items({.ns = request.ns, .ids = {unsure.begin(), unsure.end()}});
  if (!read) return std::unexpected(read.error());
  std::set<JobId> kept_back = std::move(unsure);  // but for what is still ours
  std::map<JobId, ItemNow> now_items;
  SettleRequest back{.ns = request.ns, .owner = request.owner, .settlements = {}};
  ChangeItemsRequest change{
      .ns = request.ns, .owner = "", .request = fresh_id(runtime_), .changes = {}, .act = kByWorker};
  for (const Item& item : read->items) {
    const auto claimed = std::ranges::find(reply.jobs, item.job.id, [](const ClaimedJob& one) { return one.job.id; });
    if (item.job.fence != claimed->job.fence || item.job.state != JobState::running) continue;
    kept_back.erase(item.job.id);
    const Result<ItemNow> now_item = item_now(item);
    if (!now_item) {
      back.settlements.push_back(
          {item.job.id,
           item.job.fence,
           {.kind = OutcomeKind::later, .result = {}, .error = {}, .retry_in = kUnreadablePause, .exit_status = {}}});
      continue;
    }
    const std::optional<ItemStep> step = not_to_run(known.at(item.job.queue).spec, item, *now_item, read->now);
    if (!step) {
      now_items.emplace(item.job.id, *now_item);
      continue;
    }
    back.settlements.push_back({item.job.id, item.job.fence, {.kind = OutcomeKind::given_back}});
    change.changes.push_back(change_of(item, *step));
    change.changes.back().only = JobState::ready;
  }
  if (!back.settlements.empty()) {
    if (const Result<SettleReply> gone = inner_.settle(back); !gone) return std::unexpected(gone.error());
  }
  if (!change.changes.empty()) {
    if (const Result<ChangeItemsReply> changed = inner_.change_items(change); !changed)
      return std::unexpected(changed.error());
  }
  for (const Settlement& settlement : back.settlements) kept_back.insert(settlement.id);
  std::erase_if(reply.jobs, [&](const ClaimedJob& claimed) { return kept_back.contains(claimed.job.id); });
  for (ClaimedJob& claimed : reply.jobs) {
    const auto found = known.find(claimed.job.queue);
    if (found != known.end()) as_its_stage_says(found->second.spec, now_items.at(claimed.job.id), claimed.job);
  }
  return {};
}

Result<SettleReply> StageStore::settle(const SettleRequest& request) {
  Result<Known> known = book_->recent();  // jobs of plain queues shall not pay for a second call
  if (known && has_pipeline(**known, options_.queues))
    known = book_->fresh();  // an edit is in force for the next outcome
  if (!known) return std::unexpected(known.error());
  if (!has_pipeline(**known, options_.queues)) return inner_.settle(request);
  std::vector<Settlement> open = request.settlements;
  std::vector<Settlement> plain;
  std::vector<ItemMoved> moved;
  for (int n = 0; !open.empty(); ++n) {
    if (n == kDecisions) return fail(Code::unavailable, "too many concurrent changes to these items; try again");
    Result<std::vector<Settlement>> left = decide_and_send(request, **known, open, plain, moved);
    if (!left) return std::unexpected(left.error());
    open = std::move(*left);
  }
  if (plain.empty()) return SettleReply{.refused = {}, .moved = std::move(moved)};
  SettleRequest rest = request;
  rest.settlements = std::move(plain);
  Result<SettleReply> reply = inner_.settle(rest);
  if (reply) reply->moved = std::move(moved);
  return reply;
}

// Answers those that must be decided anew. What is to be settled as any job goes to `plain`, and so does what is over:
// the store says how.
Result<std::vector<Settlement>> StageStore::decide_and_send(const SettleRequest& request, const KnownPipelines& known,
                                                            const std::vector<Settlement>& settlements,
                                                            std::vector<Settlement>& plain,
                                                            std::vector<ItemMoved>& moved) {
  std::set<JobId> ids;
  for (const Settlement& settlement : settlements) ids.insert(settlement.id);
  const Result<ItemsReply> read =
      inner_.items({.ns = request.ns, .ids = {ids.begin(), ids.end()}, .timeout = request.timeout});
  if (!read) return std::unexpected(read.error());
  ChangeItemsRequest change{.ns = request.ns,
                            .owner = request.owner,
                            .request = fresh_id(runtime_),
                            .changes = {},
                            .act = kByWorker,
                            .timeout = request.timeout};
  std::vector<ItemMoved> on_success;
  for (const Settlement& settlement : settlements) {
    const auto item = std::ranges::find(read->items, settlement.id, [](const Item& one) { return one.job.id; });
    const auto pipeline = item == read->items.end() ? known.end() : known.find(item->job.queue);
    if (pipeline == known.end()) {
      plain.push_back(settlement);
      continue;
    }
    const Result<ItemNow> now_item = item_now(*item);
    const bool readable = now_item && pipeline->second.readable();
    const bool ours = item->job.state == JobState::running && item->job.fence == settlement.fence;
    if (!ours) {
      if (!readable || now_item->record.moved_under != settlement.fence) plain.push_back(settlement);
      else if (auto to = moved_to(pipeline->second.spec, settlement, item->job.stage)) moved.push_back(std::move(*to));
      continue;
    }
    if (!readable) {  // where it leads is for a worker of that version to say
      plain.push_back({settlement.id, settlement.fence, {.kind = OutcomeKind::given_back}});
      continue;
    }
    Settlement said = settlement;
    if (entry_ && !is_its_entry(known, item->job.queue, item->job.stage))
      said.outcome = {.kind = OutcomeKind::given_back};  // of a condition that was removed
    StageOutcome made = stage_outcome(pipeline->second.spec, *item, *now_item, said, read->now);
    if (!made.step) {
      plain.push_back({settlement.id, settlement.fence, std::move(made.plain)});
      continue;
    }
    ItemChange one = change_of(*item, *made.step);
    one.fence = settlement.fence;
    one.place->result = std::move(made.result);
    one.place->error = std::move(made.error);
    if (one.place->stage != item->job.stage) {
      if (auto to = moved_to(pipeline->second.spec, settlement, one.place->stage)) on_success.push_back(std::move(*to));
    }
    change.changes.push_back(std::move(one));
  }
  std::vector<Settlement> again;
  if (change.changes.empty()) return again;
  const Result<ChangeItemsReply> changed = inner_.change_items(change);
  if (!changed) return std::unexpected(changed.error());
  for (const ItemRefusal& refused : changed->refused) {
    const auto one = std::ranges::find(change.changes, refused.id, &ItemChange::id);
    std::ranges::copy_if(settlements, std::back_inserter(again), [&](const Settlement& settlement) {
      return settlement.id == refused.id && settlement.fence == one->fence;
    });
    std::erase_if(on_success, [&](const ItemMoved& item) { return item.id == refused.id; });
  }
  std::ranges::move(on_success, std::back_inserter(moved));
  return again;
}

Result<BacklogReply> StageStore::backlog(const BacklogRequest& request) {
  const Result<Known> known = book_->recent();
  if (!known) return std::unexpected(known.error());
  // Entry conditions first: what one lets in meanwhile is seen at its stage.
  BacklogReply all;
  for (const std::string& queue : request.queues) {
    const auto found = (*known)->find(queue);
    if (found == (*known)->end()) continue;
    const std::optional<std::size_t> stage = found->second.spec.find(request.stage);  // none, if it is not readable
    if (!stage || *stage == 0) continue;
    const Result<BacklogReply> entry = inner_.backlog({.ns = request.ns,
                                                       .queues = {queue},
                                                       .stage = stored_entry(found->second.spec, *stage),
                                                       .timeout = request.timeout});
    if (!entry) return entry;
    add(all, *entry, is_looked_after(found->second.spec.stages[*stage].entry, options_.run_checks));
  }
  for (const Served& served : groups_of(**known, request.queues, request.stage)) {
    const Result<BacklogReply> reply =
        inner_.backlog({.ns = request.ns, .queues = served.queues, .stage = served.stage, .timeout = request.timeout});
    if (!reply) return reply;
    add(all, *reply, true);
  }
  return all;
}

Result<void> StageStore::as_stored(NewJob& job) {
  if (job.stage.empty()) return {};
  const Result<Known> known = all_->recent();
  if (!known) return std::unexpected(known.error());
  job.stage = stored(**known, job.queue, job.stage);
  return {};
}

Result<EnqueueReply> StageStore::enqueue(const EnqueueRequest& request) {
  if (std::ranges::all_of(request.jobs, [](const NewJob& job) { return job.stage.empty(); }))
    return inner_.enqueue(request);
  EnqueueRequest asked = request;
  for (NewJob& job : asked.jobs) {
    Result<std::string> stage = stage_of_new_job(job.queue, job.stage);
    if (!stage) return std::unexpected(stage.error());
    job.stage = std::move(*stage);
  }
  return inner_.enqueue(asked);
}

Result<std::string> StageStore::stage_of_new_job(const std::string& queue, const std::string& stage) {
  if (stage.empty()) return stage;
  const Result<Known> known = all_->recent();
  if (!known) return std::unexpected(known.error());
  const auto found = (*known)->find(queue);
  if (found == (*known)->end()) return stage;
  if (!found->second.readable()) {
    const Result<std::optional<KnownPipeline>> why = read_pipeline(inner_, options_.ns, queue);
    return why ? Result<std::string>(stage) : std::unexpected(why.error());
  }
  const PipelineSpec& spec = found->second.spec;
  const Result<std::size_t> named = stage_named(spec, stage);
  if (!named) return std::unexpected(named.error());
  if (*named == 0) return std::string();
  return fail(Code::conflict, "an item of pipeline " + spec.name + " starts at its first stage, " + spec.first().name +
                                  "; leave out --stage, then move it with: fenceline stage move ID --to " + stage);
}

Result<StepReply> StageStore::step_ticks(const StepRequest& request) {
  StepRequest asked = request;
  for (TickStep& step : asked.steps) {
    for (FiredTick& fired : step.fired) {
      if (auto ok = as_stored(fired.job); !ok) return std::unexpected(ok.error());
    }
  }
  return inner_.step_ticks(asked);
}

Result<ChangeScheduleReply> StageStore::change_schedule(const ChangeScheduleRequest& request) {
  ChangeScheduleRequest asked = request;
  if (asked.job) {
    if (auto ok = as_stored(*asked.job); !ok) return std::unexpected(ok.error());
  }
  if (asked.step) {
    for (FiredTick& fired : asked.step->fired) {
      if (auto ok = as_stored(fired.job); !ok) return std::unexpected(ok.error());
    }
  }
  return inner_.change_schedule(asked);
}

Result<void> StageStore::report_worker(const WorkerReport& report) {
  const Result<Known> known = book_->recent();
  WorkerReport told = report;
  if (known) told.stage = stored(**known, report.queues, report.stage);
  return inner_.report_worker(told);
}

std::unique_ptr<Watch> StageStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  const Result<Known> known = book_->recent();
  WatchRequest told = request;
  if (known) told.stage = stored(**known, request.queues, request.stage);
  return inner_.watch(told, std::move(on_change));
}

}  // namespace fenceline
