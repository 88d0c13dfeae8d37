#include "services/pipeline_acts.hpp"

#include <algorithm>
#include <utility>

#include "services/fresh_id.hpp"

namespace fenceline {
namespace {

constexpr int kItemsOfAPage = 1000;
constexpr int kRounds = 20;
const std::vector<JobState> kUnfinished{JobState::ready, JobState::running, JobState::waiting};

// "3 at review (0198..., 0198..., ...)".
std::string named_by_stage(const std::map<std::string, std::vector<JobId>>& left) {
  std::string words;
  for (const auto& [stage, ids] : left) {
    words += (words.empty() ? "" : ", ") + std::to_string(ids.size()) + " at " + stage + " (" + to_string(ids.front()) +
             (ids.size() > 1 ? ", ..." : "") + ")";
  }
  return words;
}

}  // namespace

PipelineActs::PipelineActs(Runtime& runtime, Store& store, std::string ns, std::stop_token stop)
    : runtime_(runtime), store_(store), ns_(std::move(ns)), stop_(std::move(stop)) {}

Result<std::vector<Job>> PipelineActs::unfinished(const std::string& queue, bool waiting_only,
                                                  const std::vector<JobState>& states) {
  std::vector<Job> found;
  for (const JobState state : states) {
    JobsRequest request{.ns = ns_, .queue = queue, .state = state, .tag = {}, .limit = kItemsOfAPage};
    while (true) {
      Result<JobsReply> page = store_.jobs(request);
      if (!page) return std::unexpected(page.error());
      for (Job& job : page->jobs) {
        if (!waiting_only || job.stage.find(':') != std::string::npos) found.push_back(std::move(job));
      }
      if (!page->next || stop_.stop_requested()) break;
      request.after = *page->next;
    }
  }
  return found;
}

// Items that wait for people are told nothing by a store when a pipeline changes: so whoever changes it looks at them.
// A look that is under way ends if the entry condition is another one now.
Result<std::int64_t> PipelineActs::refit(const PipelineSpec& spec, const Result<PipelineSpec>& before,
                                         const std::vector<JobState>& states, const Act& act) {
  const auto entry_of = [](const PipelineSpec& one, const std::string& stage) -> std::optional<StageEntry> {
    const std::optional<Position> at = position_of(one, stage);
    return at ? std::optional(one.stages[at->stage].entry) : std::nullopt;
  };
  std::int64_t refitted = 0;
  for (int n = 0; n < kRounds; ++n) {
    const Result<std::vector<Job>> jobs = unfinished(spec.name, true, states);
    if (!jobs) return std::unexpected(jobs.error());
    bool again = false;
    for (std::size_t from = 0; from < jobs->size(); from += kItemsAtOnceMax) {
      ItemsRequest wanted{.ns = ns_, .ids = {}};
      for (std::size_t i = from; i < std::min(jobs->size(), from + kItemsAtOnceMax); ++i)
        wanted.ids.push_back((*jobs)[i].id);
      const Result<ItemsReply> read = store_.items(wanted);
      if (!read) return std::unexpected(read.error());
      ChangeItemsRequest change{.ns = ns_,
                                .owner = {},
                                .request = fresh_id(runtime_),
                                .changes = {},
                                .act = {.actor = act.actor, .reason = "pipeline " + spec.name + " was edited"}};
      for (const Item& item : read->items) {
        const Result<ItemNow> now_item = item_now(item);
        if (!now_item) continue;  // of a newer version, which looks at it itself
        const std::optional<ItemStep> step = fitted(
            spec, *now_item, !before || entry_of(*before, item.job.stage) != entry_of(spec, item.job.stage), read->now);
        if (!step) continue;
        change.changes.push_back(change_of(item, *step));
        change.changes.back().only = item.job.state;
      }
      if (change.changes.empty()) continue;
      const Result<ChangeItemsReply> changed = store_.change_items(change);
      if (!changed) return std::unexpected(changed.error());
      refitted += static_cast<std::int64_t>(change.changes.size() - changed->refused.size());
      again = again || std::ranges::any_of(changed->refused, [](const ItemRefusal& refusal) {
                return refusal.reason == Reason::changed || refusal.reason == Reason::state;
              });
    }
    if (!again) break;
  }
  return refitted;
}

Result<ApplyReport> PipelineActs::apply(const PipelineSpec& spec, bool force, const Act& act) {
  if (auto ok = check_pipeline(spec); !ok) return std::unexpected(ok.error());
  const std::string text = pipeline_text(spec);
  const Result<std::vector<PipelineRow>> rows = store_.pipelines(ns_);
  if (!rows) return std::unexpected(rows.error());
  const auto row = std::ranges::find(*rows, spec.name, &PipelineRow::name);
  ApplyReport report;
  // One that cannot be read any more has no meaning that could be kept.
  const Result<PipelineSpec> before = row == rows->end() ? fail(Code::not_found, "") : parse_pipeline(row->spec);
  report.outcome = row == rows->end()  ? ApplyOutcome::added
                   : row->spec == text ? ApplyOutcome::same
                                       : ApplyOutcome::changed;
  if (report.outcome == ApplyOutcome::same) {
    report.row = *row;
  } else {
    const Result<std::vector<Job>> jobs = unfinished(spec.name, false, kUnfinished);
    if (!jobs) return std::unexpected(jobs.error());
    std::map<std::string, std::vector<JobId>> left;
    for (const Job& job : *jobs) {
      const bool lost = !position_of(spec, job.stage);
      const bool another =
          before && position_of(*before, job.stage) && stage_words(*before, job.stage) != stage_words(spec, job.stage);
      if (lost || another) left[before ? stage_words(*before, job.stage) : job.stage].push_back(job.id);
      if (lost) report.stranded[job.stage] += 1;
    }
    if (!left.empty() && !force)
      return fail(Code::conflict,
                  "pipeline " + spec.name +
                      " has items at stages that the new version removes, or that are no longer first: " +
                      named_by_stage(left) + "; finish or move them first, or leave them where they are with --force");
    Result<PipelineRow> put = store_.put_pipeline(
        {.ns = ns_, .name = spec.name, .spec = text, .revision = row == rows->end() ? 0 : row->revision, .act = act});
    if (!put) return std::unexpected(put.error());
    report.row = std::move(*put);
  }
  const Result<std::int64_t> refitted = refit(spec, before, kUnfinished, act);
  if (!refitted) return std::unexpected(refitted.error());
  report.refitted = *refitted;
  return report;
}

Result<std::int64_t> PipelineActs::refit_waiting(const PipelineSpec& spec, const Act& act) {
  return refit(spec, spec, {JobState::waiting}, act);
}

Result<void> PipelineActs::remove(const std::string& name, bool force, const Act& act) {
  if (auto ok = check_name("pipeline", name); !ok) return ok;
  const Result<std::vector<PipelineRow>> rows = store_.pipelines(ns_);
  if (!rows) return std::unexpected(rows.error());
  const auto row = std::ranges::find(*rows, name, &PipelineRow::name);
  if (row == rows->end())
    return fail(Code::not_found,
                "no pipeline " + name + " in namespace " + ns_ + "; 'fenceline pipeline show' lists them");
  const Result<std::vector<Job>> jobs = unfinished(name, false, kUnfinished);
  if (!jobs) return std::unexpected(jobs.error());
  if (!jobs->empty() && !force)
    return fail(Code::conflict,
                "pipeline " + name + " has " + std::to_string(jobs->size()) + " unfinished items, " +
                    to_string(jobs->front().id) +
                    " among them; finish or cancel them first, or keep them as plain jobs with --force");
  const Result<PipelineRow> gone =
      store_.put_pipeline({.ns = ns_, .name = name, .spec = {}, .revision = row->revision, .act = act});
  if (!gone) return std::unexpected(gone.error());
  return {};
}

}  // namespace fenceline
