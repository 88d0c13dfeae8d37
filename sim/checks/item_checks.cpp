#include "sim/checks/item_checks.hpp"

#include <algorithm>

#include "sim/store/applied.hpp"

namespace fenceline::sim {
namespace {

constexpr std::string_view kEntry = "gate:";
constexpr Duration kUnderWayMost = std::chrono::seconds{25};  // of a request that is late

}  // namespace

ItemChecks::Story& ItemChecks::story_of(const JobId& id) {
  return stories_.try_emplace(id, Story{.may_be_at = spec_.stages.front().name}).first->second;
}

std::size_t ItemChecks::number_of(const std::string& stage) const {
  return static_cast<std::size_t>(std::ranges::find(spec_.stages, stage, &StageSpec::name) - spec_.stages.begin());
}

template <class Is>
bool ItemChecks::some_entry(const std::string& stage, Is is) const {
  for (std::size_t i = edits_.size(); i-- > 0;) {
    if (is(edits_[i].second.stages[number_of(stage)].entry)) return true;
    if (edits_[i].first + kUnderWayMost < simulation_.now()) return false;  // the one before is long past
  }
  return false;
}

Result<PipelineRow> ItemChecks::put_pipeline(const PutPipelineRequest& request) {
  Result<PipelineRow> reply = inner_.put_pipeline(request);
  tally_.add(Count::operations);
  const Result<PipelineSpec> spec =
      reply ? parse_pipeline(reply->spec) : Result<PipelineSpec>(fail(Code::not_found, ""));
  if (!spec || (!edits_.empty() && edits_.back().second == *spec)) return reply;
  if (!edits_.empty()) tally_.add(Count::settings_changed);
  edits_.emplace_back(simulation_.now(), *spec);
  if (simulation_.trace().on()) {
    for (const StageSpec& stage : spec->stages)
      simulation_.trace().write(simulation_.now(), "store", "entry of " + stage.name + ": " + entry_words(stage.entry));
  }
  return reply;
}

void ItemChecks::broken(std::string_view promise, const JobId& id, const std::string& what) {
  violations_.add(promise, "item " + short_id(id) + " " + what);
}

void ItemChecks::begins(const Job& job) {
  const Result<std::optional<Job>> now = inner_.job(std::string(kItemNamespace), job.id);
  if (!now || !*now || (*now)->fence != job.fence) return;  // somebody moved it since, and its worker will hear of that
  const std::string& may_be_at = story_of(job.id).may_be_at;
  if (may_be_at != job.stage)
    broken("P1", job.id, "is worked on at " + job.stage + ", and came lawfully only to '" + may_be_at + "'");
}

Result<ClaimReply> ItemChecks::claim(const ClaimRequest& request) {
  Result<ClaimReply> reply = inner_.claim(request);
  tally_.add(Count::operations);
  if (!reply) return reply;
  for (const ClaimedJob& claimed : reply->jobs) {
    tally_.add(Count::claimed);
    if (claimed.forced) tally_.add(Count::takeovers);
  }
  return reply;
}

Result<SettleReply> ItemChecks::settle(const SettleRequest& request) {
  Result<SettleReply> reply = inner_.settle(request);
  tally_.add(Count::operations);
  if (!reply) return reply;
  for (const Settlement& settlement : request.settlements) {
    const bool refused = std::ranges::any_of(reply->refused, [&](const Refusal& refusal) {
      return refusal.id == settlement.id && refusal.sent == settlement.fence;
    });
    if (refused) tally_.add(Count::refusals);
    if (refused || settlement.outcome.kind != OutcomeKind::done) continue;
    const Result<std::optional<Job>> job = inner_.job(request.ns, settlement.id);
    if (!job || !*job || (*job)->state != JobState::done) continue;
    if ((*job)->stage != spec_.stages.back().name || !worked_.contains({settlement.id, settlement.fence}))
      broken("P1", settlement.id, "is done at '" + (*job)->stage + "'");
    tally_.add(Count::settled);
  }
  return reply;
}

Result<ChangeItemsReply> ItemChecks::change_items(const ChangeItemsRequest& request) {
  ItemsRequest all{.ns = request.ns, .ids = {}};
  for (const ItemChange& change : request.changes) all.ids.push_back(change.id);
  const Result<ItemsReply> before = inner_.items(all);
  Result<ChangeItemsReply> reply = inner_.change_items(request);
  tally_.add(Count::operations);
  const Result<ItemsReply> after = inner_.items(all);
  if (!reply || !before || !after || before->items.size() != all.ids.size() || after->items.size() != all.ids.size())
    return reply;
  for (std::size_t i = 0; i < request.changes.size(); ++i) {
    const ItemChange& change = request.changes[i];
    const bool refused = std::ranges::find(reply->refused, change.id, &ItemRefusal::id) != reply->refused.end();
    if (refused) tally_.add(Count::items_refused);
    if (!refused && after->items[i].revision != before->items[i].revision)
      changed(request, change, before->items[i], after->items[i]);
  }
  return reply;
}

void ItemChecks::count(const ItemChange& change) {
  if (change.act == "item_advanced") tally_.add(Count::items_advanced);
  if (change.act == "item_approved") tally_.add(Count::items_approved);
  if (change.act == "item_returned" || change.act == "item_rejected") tally_.add(Count::items_returned);
  if (change.act == "item_expired") tally_.add(Count::items_expired);
  if (change.act == "item_held") tally_.add(Count::items_on_hold);
  if (change.act == "item_moved") tally_.add(Count::items_moved);
}

void ItemChecks::changed(const ChangeItemsRequest& request, const ItemChange& change, const Item& before,
                         const Item& after) {
  if (simulation_.trace().on())
    simulation_.trace().write(simulation_.now(), "store",
                              change.act + " " + short_id(change.id) + " " + change.about + " by " + request.act.actor);
  Story& story = story_of(change.id);
  if (change.act == "item_approved" && !story.approvers.insert(request.act.actor).second)
    broken("P1", change.id, "was approved twice by " + request.act.actor);
  count(change);
  if (!change.place) return;
  if (after.job.state == JobState::running || after.job.stage != change.place->stage)
    broken("P2", change.id, "was moved, and not let go in the same step");
  if (change.fence && !story.ended.insert(*change.fence).second)
    broken("P2", change.id, "was moved twice by one delivery");
  if (after.job.stage == before.job.stage) return;
  const auto name = [&](const std::string& stored) { return stored.empty() ? spec_.stages.front().name : stored; };
  const bool was_at_entry = before.job.stage.starts_with(kEntry);
  const std::string from = was_at_entry ? before.job.stage.substr(kEntry.size()) : name(before.job.stage);
  if (after.job.stage.starts_with(kEntry))
    came_to_entry(change, from, was_at_entry, after.job.stage.substr(kEntry.size()));
  else came_to_stage(change, from, was_at_entry, name(after.job.stage));
}

void ItemChecks::came_to_entry(const ItemChange& change, const std::string& from, bool was_at_entry,
                               const std::string& stage) {
  Story& story = story_of(change.id);
  const bool on = !was_at_entry && number_of(stage) == number_of(from) + 1;
  const bool back = number_of(stage) < number_of(from) + (was_at_entry ? 0 : 1);
  if (on && change.fence && !worked(change)) broken("P1", change.id, "left " + from + " without an accepted outcome");
  if (!on && !back) broken("P1", change.id, "came to wait for entry to " + stage + " from " + from);
  story.may_be_at.clear();
  story.approvers.clear();
}

void ItemChecks::came_to_stage(const ItemChange& change, const std::string& from, bool was_at_entry,
                               const std::string& stage) {
  Story& story = story_of(change.id);
  if (was_at_entry && from == stage) {
    const bool checked = change.fence && checked_.contains({change.id, *change.fence});
    const bool open = some_entry(stage, [&](const StageEntry& entry) {
      if (entry.kind == EntryKind::approval) return std::cmp_greater_equal(story.approvers.size(), entry.count);
      return entry.kind == EntryKind::automatic || checked;
    });
    if (!open) broken("P1", change.id, "was let into " + stage + ", whose entry condition was not met");
    tally_.add(Count::items_let_in);
  } else if (!was_at_entry && number_of(stage) == number_of(from) + 1) {
    if (change.act != "item_moved" && !worked(change))
      broken("P1", change.id, "left " + from + " without an accepted outcome");
    if (!some_entry(stage, [](const StageEntry& entry) { return entry.kind == EntryKind::automatic; }))
      broken("P1", change.id, "went past the entry condition of " + stage);
  } else if (number_of(stage) >= number_of(from)) {
    broken("P1", change.id, "went from " + from + " to " + stage);
  }
  story.may_be_at = stage;
  story.approvers.clear();
}

}  // namespace fenceline::sim
