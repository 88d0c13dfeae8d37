// Pipelines, and what is known of their items: texts that the store does not read, and a job that moves in one step
// with them.
#include <algorithm>

#include "backends/memory/memory_store.hpp"

namespace fenceline {
namespace {

// The end of a delivery, as settle would have it, wherever the job goes.
Job ended_by_holder(Job job, const Placement& place) {
  const bool failed = !place.error.empty();
  job.last_outcome = failed ? OutcomeKind::failed : OutcomeKind::done;
  job.exit_status.reset();
  job.losses_in_row = 0;
  if (failed) {
    job.failures += 1;
    job.error = place.error;
  } else if (place.state == JobState::done) {
    job.result = place.result;
  }
  return job;
}

Job placed(Job job, const Placement& place, WallTime now) {
  job.stage = place.stage;
  job.state = place.state;
  if (place.state == JobState::dead && !place.error.empty()) job.error = place.error;
  if (place.fresh) job.failures = job.losses_in_row = job.laters = 0;
  if (place.state == JobState::ready) job.run_at = now + place.delay;
  if (place.state == JobState::waiting) job.run_at = now;
  if (is_finished(place.state)) job.finished_at = now;
  return job;
}

}  // namespace

Result<PipelineRow> MemoryStore::put_pipeline(const PutPipelineRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  PipelineRow row;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    std::map<std::string, PipelineRow>& pipelines = spaces_[request.ns].pipelines;
    const auto found = pipelines.find(request.name);
    row = found == pipelines.end() ? PipelineRow{.name = request.name, .spec = ""} : found->second;
    if (row.spec == request.spec) return row;
    const bool is_there = !row.spec.empty();
    if (request.revision != (is_there ? row.revision : 0))
      return fail(Code::conflict, is_there
                                      ? "pipeline " + request.name + " has revision " + std::to_string(row.revision) +
                                            " now, not " + std::to_string(request.revision) + ": look at it again"
                                      : "there is no pipeline " + request.name + " any more: look again");
    const auto there =
        std::count_if(pipelines.begin(), pipelines.end(), [](const auto& one) { return !one.second.spec.empty(); });
    if (!is_there && there >= kPipelinesMax)
      return fail(Code::refused, "namespace " + request.ns + " has " + std::to_string(kPipelinesMax) +
                                     " pipelines, the most there can be; remove one first");
    row.spec = request.spec;
    row.revision += 1;
    row.changed_at = now.wall;
    pipelines[request.name] = row;
    note_act(request.ns, request.act, row.spec.empty() ? "pipeline_removed" : "pipeline_applied", request.name, now);
  }
  tell(request.ns, {.claimable = {}, .orders = true});
  return row;
}

Result<std::vector<PipelineRow>> MemoryStore::pipelines(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  std::vector<PipelineRow> rows;
  const Space* space = find_space(ns);
  if (!space) return rows;
  for (const auto& [name, row] : space->pipelines) {
    if (!row.spec.empty()) rows.push_back(row);
  }
  return rows;
}

Result<ItemsReply> MemoryStore::items(const ItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  ItemsReply reply;
  reply.now = now.wall;
  Space* space = find_space(request.ns);
  if (!space) return reply;
  for (const JobId& id : request.ids) {
    const Entry* entry = find_job(*space, id);
    if (!entry) continue;
    Item& item = reply.items.emplace_back(shown(*entry, now), entry->item.revision, entry->item.record);
    item.job.payload.clear();
    item.job.result.clear();
  }
  return reply;
}

// Why it is not made; none: it is.
Reason MemoryStore::change_refusal(const Entry* entry, const std::string& owner, const ItemChange& change) {
  if (!entry) return Reason::not_found;
  const JobState state = entry->job.state;
  if (change.fence) {
    if (const Reason reason = refusal(entry, owner, *change.fence); reason != Reason::none) return reason;
    if (is_finished(state)) return Reason::finished;
    if (state != JobState::running) return Reason::settled;
  } else {
    if (is_finished(state)) return Reason::finished;
    if (change.only && *change.only != state) return Reason::state;
    if (change.place && state == JobState::waiting && !waited_for(*entry).empty()) return Reason::effect_in_doubt;
  }
  return entry->item.revision == change.revision ? Reason::none : Reason::changed;
}

void MemoryStore::move_item(Space& space, Entry& entry, const ItemChange& change, const Now& now, Changes& changes) {
  const Placement& place = *change.place;
  if (change.fence) {
    entry.job = ended_by_holder(entry.job, place);
    end_attempt(entry, attempt_end(*entry.job.last_outcome), {.error = place.error}, now);
  } else if (entry.job.state == JobState::running) {
    revoke(space, entry, AttemptEnd::cancelled, now);
    changes.orders = true;
  }
  entry.job = placed(entry.job, place, now.wall);
  if (place.state == JobState::ready) changes.claimable.emplace(entry.job.queue, entry.job.stage);
  note_free_slot(space, entry, changes);
}

// No job is there twice, so that no change bears on another one; of a group only one job runs, so that no fence does.
Result<ChangeItemsReply> MemoryStore::change_items(const ChangeItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  ChangeItemsReply reply;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    std::vector<std::pair<Entry*, const ItemChange*>> made;
    for (const ItemChange& change : request.changes) {
      Entry* entry = find_job(space, change.id);
      if (entry && entry->item.request == request.request) continue;
      if (const Reason reason = change_refusal(entry, request.owner, change); reason == Reason::none)
        made.emplace_back(entry, &change);
      else reply.refused.push_back({change.id, reason, entry ? entry->job.fence : 0, entry ? entry->item.revision : 0});
    }
    for (const auto& [entry, change] : made) {
      const bool revokes = change->place && !change->fence && entry->job.state == JobState::running;
      if (!revokes) continue;
      if (auto ok = check_fence_left(space, *entry, now); !ok) return std::unexpected(ok.error());
    }
    for (const auto& [entry, change] : made) {
      if (change->place) move_item(space, *entry, *change, now, changes);
      entry->item = {entry->item.revision + 1, change->record, request.request};
      const std::string about = change->about.empty() ? "" : " " + change->about;
      note_act(request.ns, {request.act.actor, change->reason.empty() ? request.act.reason : change->reason},
               change->act, to_string(change->id) + about, now);
    }
  }
  tell(request.ns, changes);
  return reply;
}

}  // namespace fenceline
