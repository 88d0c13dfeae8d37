// Who may run beside whom: slots of queues, groups and limit keys, always counted from the jobs themselves, so that
// nothing can leak (J7).
#include <algorithm>

#include "backends/memory/memory_store.hpp"

namespace fenceline {

void MemoryStore::bring_leases_back(Space& space, const ClaimRequest& request, const Now& now) {
  for (auto& [id, entry] : space.jobs) {
    if (std::ranges::find(request.queues, entry.job.queue) == request.queues.end()) continue;
    if (entry.job.state == JobState::running) entry.lease_end = brought_back(entry.lease_end, entry.ttl, now);
    if (entry.revoked) entry.revoked->lease_end = brought_back(entry.revoked->lease_end, entry.revoked->ttl, now);
  }
}

bool MemoryStore::expired(const Entry& entry, const Now& now) {
  return entry.job.state == JobState::running && entry.lease_end <= now.lease;
}

bool MemoryStore::due(const Entry& entry, const Now& now) {
  return entry.job.state == JobState::ready && entry.job.run_at <= now.wall;
}

bool MemoryStore::keeps_slot(const Entry& entry, const Now& now) {
  return entry.revoked && entry.revoked->lease_end > now.lease;
}

bool MemoryStore::must_run_alone_now(const Entry& entry, const Now& now) {
  return must_run_alone(entry.job.losses_in_row + (expired(entry, now) ? 1 : 0));
}

void MemoryStore::Slots::take(const Entry& entry) {
  const Job& job = entry.job;
  of_queue[job.queue].push_back(&entry);
  if (!job.limit_key.empty()) of_limit_key[{job.queue, job.limit_key}].push_back(&entry);
  if (!job.group.empty()) of_group[{job.queue, job.group}] = &entry;
}

MemoryStore::Slots MemoryStore::slots_of(const Space& space, const Now& now) {
  Slots slots;
  for (const auto& [id, entry] : space.jobs) {
    const Job& job = entry.job;
    if (job.state == JobState::running || keeps_slot(entry, now)) slots.take(entry);
    if (job.group.empty() || is_finished(job.state)) continue;
    const Entry*& head = slots.heads[{job.queue, job.group}];
    if (!head || entry.group_order < head->group_order) head = &entry;
  }
  return slots;
}

const MemoryStore::Queue& MemoryStore::queue_of(const Space& space, const std::string& queue) {
  static const Queue unknown;
  const auto found = space.queues.find(queue);
  return found == space.queues.end() ? unknown : found->second;
}

bool MemoryStore::is_paused(const Space& space, const std::string& queue) {
  return queue_of(space, queue).paused.has_value();
}

bool MemoryStore::queue_is_full(const Space& space, const Slots& slots, const Job& job) {
  const int limit = queue_of(space, job.queue).settings.limit;
  const auto taken = slots.of_queue.find(job.queue);
  return limit > 0 && taken != slots.of_queue.end() && taken->second.size() >= static_cast<std::size_t>(limit);
}

bool MemoryStore::limit_key_is_full(const Space& space, const Slots& slots, const Job& job) {
  const int limit = queue_of(space, job.queue).settings.limit_per_key;
  const auto taken = slots.of_limit_key.find({job.queue, job.limit_key});
  return limit > 0 && taken != slots.of_limit_key.end() && taken->second.size() >= static_cast<std::size_t>(limit);
}

bool MemoryStore::has_room(const Space& space, const Slots& slots, const Entry& entry, const Now& now) {
  const Job& job = entry.job;
  if (expired(entry, now)) return true;
  if (keeps_slot(entry, now)) return false;
  if (!job.group.empty()) {
    const InQueue group{job.queue, job.group};
    if (slots.of_group.contains(group) || slots.heads.at(group) != &entry) return false;
  }
  return !queue_is_full(space, slots, job) && !limit_key_is_full(space, slots, job);
}

}  // namespace fenceline
