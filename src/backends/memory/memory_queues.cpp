// Queues as people see and set them, and what is forgotten when its time is over.
#include <algorithm>
#include <tuple>

#include "backends/memory/memory_store.hpp"
#include "base/duration_text.hpp"

namespace fenceline {
namespace {

// "NAME limit=3 keep_done=24h": what was asked for.
std::string asked_for(const SetQueueRequest& request) {
  const QueueChange& change = request.change;
  std::string text = request.queue;
  if (change.limit) text += " limit=" + std::to_string(*change.limit);
  if (change.limit_per_key) text += " limit_per_key=" + std::to_string(*change.limit_per_key);
  if (change.keep_done) text += " keep_done=" + format_duration(*change.keep_done);
  if (change.keep_dead) text += " keep_dead=" + format_duration(*change.keep_dead);
  return text;
}

}  // namespace

Result<void> MemoryStore::set_queue(const SetQueueRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const QueueChange& change = request.change;
    QueueSettings& settings = spaces_[request.ns].queues[request.queue].settings;
    const QueueSettings before = settings;
    settings.limit = change.limit.value_or(before.limit);
    settings.limit_per_key = change.limit_per_key.value_or(before.limit_per_key);
    settings.keep_done = change.keep_done.value_or(before.keep_done);
    settings.keep_dead = change.keep_dead.value_or(before.keep_dead);
    if (settings == before) return {};
    note_act(request.ns, request.act, "queue_set", asked_for(request), now());
    changes.claimable.emplace(request.queue, std::nullopt);
  }
  tell(request.ns, changes);
  return {};
}

Result<void> MemoryStore::pause(const PauseRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    if (is_paused(space, request.queue) == request.paused) return {};
    Queue& queue = space.queues[request.queue];
    if (request.paused) {
      queue.paused = QueuePause{now.wall, request.act.actor, request.act.reason};
    } else {
      queue.paused.reset();
      changes.claimable.emplace(request.queue, std::nullopt);
    }
    note_act(request.ns, request.act, request.paused ? "queue_paused" : "queue_resumed", request.queue, now);
  }
  tell(request.ns, changes);
  return {};
}

Result<std::vector<QueueRow>> MemoryStore::queues(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  std::vector<QueueRow> rows;
  const Space* space = find_space(ns);
  if (!space) return rows;
  for (const auto& [name, queue] : space->queues) {
    QueueRow row;
    row.queue = name;
    row.newest = last_order_;
    row.settings = queue.settings;
    row.paused = queue.paused;
    for (const auto& [id, entry] : space->jobs) {
      if (entry.job.queue != name) continue;
      row.depth[static_cast<std::size_t>(entry.job.state)] += 1;
      if (due(entry, now))
        row.oldest_ready_at = std::min(row.oldest_ready_at.value_or(entry.job.run_at), entry.job.run_at);
      else if (entry.job.state == JobState::ready) row.ahead = std::min(row.ahead + 1, kAheadCounted);
    }
    const bool has_jobs = std::any_of(row.depth.begin(), row.depth.end(), [](std::int64_t depth) { return depth > 0; });
    if (has_jobs || row.paused || row.settings != QueueSettings{}) rows.push_back(std::move(row));
  }
  return rows;
}

Result<Fence> MemoryStore::raise_floor(const RaiseFloorRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Fence last = floor_;
  for (const auto& [ns, space] : spaces_) last = std::max(last, last_fence(space));
  const Fence most = std::max(last, (now.wall + kFloorAheadMost).time_since_epoch().count());
  if (request.floor > most)
    return fail(Code::refused, "a floor of " + std::to_string(request.floor) +
                                   " is more than a day ahead of the store's clock; at most " + std::to_string(most));
  if (request.floor <= floor_) return floor_;
  floor_ = request.floor;
  note_act(request.ns, request.act, "floor_raised", std::to_string(floor_), now);
  return floor_;
}

Result<TidyReply> MemoryStore::tidy(const TidyRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  TidyReply reply;
  Space* space = find_space(request.ns);
  if (!space) return reply;

  std::vector<const Entry*> over;
  for (const auto& [id, entry] : space->jobs) {
    const Job& job = entry.job;
    if (!is_finished(job.state)) continue;
    const QueueSettings& settings = queue_of(*space, job.queue).settings;
    const Duration keep = job.state == JobState::done ? settings.keep_done : settings.keep_dead;
    const bool has_key = !job.key.empty() && key_holder(*space, job.queue, job.key, now) == &entry;
    if (*job.finished_at + keep <= now.wall && !has_key && !keeps_slot(entry, now) && !has_doubt(entry, now))
      over.push_back(&entry);
  }
  std::sort(over.begin(), over.end(), [](const Entry* a, const Entry* b) {
    return std::tie(*a->job.finished_at, a->order) < std::tie(*b->job.finished_at, b->order);
  });
  reply.more = over.size() > static_cast<std::size_t>(request.limit);
  if (reply.more) over.resize(static_cast<std::size_t>(request.limit));
  for (const Entry* entry : over) {
    floor_ = std::max(floor_, entry->job.fence);
    const JobId id = entry->job.id;
    std::erase_if(space->keys, [&](const auto& key) { return key.second == id; });
    space->jobs.erase(id);
    reply.removed += 1;
  }

  std::set<InQueue> groups_with_jobs;
  for (const auto& [id, entry] : space->jobs) groups_with_jobs.emplace(entry.job.queue, entry.job.group);
  std::erase_if(space->groups, [&](const auto& group) {
    if (groups_with_jobs.contains(group.first)) return false;
    floor_ = std::max(floor_, group.second);
    return true;
  });
  std::erase_if(space->aliases, [&](const auto& alias) { return alias.second.at + kAliasKeptFor <= now.wall; });
  std::erase_if(space->batches, [&](const auto& batch) { return batch.second + kBatchRememberedFor <= now.wall; });
  reply.removed += tidy_locks(*space, request.limit, reply.more, now);
  reply.removed += tidy_ticks(*space, request.limit, reply.more, now);
  reply.removed += forget_schedules(*space, request.limit, reply.more, now);
  return reply;
}

}  // namespace fenceline
