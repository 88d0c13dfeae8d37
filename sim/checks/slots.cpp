#include "sim/checks/slots.hpp"

#include <algorithm>

namespace fenceline::sim {

Slots::Slots(const std::map<JobId, KnownJob>& jobs, const std::map<Holding, KeptSlot>& kept,
             const std::map<std::string, KnownQueue>& queues)
    : queues_(queues) {
  for (const auto& [id, job] : jobs) {
    if (job.finished()) continue;
    if (!job.group.empty()) {
      const auto [first, is_first] = first_place_.emplace(Name{job.queue, job.group}, job.place);
      if (!is_first) first->second = std::min(first->second, job.place);
    }
    if (job.state == JobState::running) take(job.queue, job.group, job.limit_key);
  }
  for (const auto& [holding, slot] : kept) {
    take(slot.queue, slot.group, slot.limit_key);
    keeps_slot_.insert(holding.id);
  }
}

void Slots::take(const std::string& queue, const std::string& group, const std::string& limit_key) {
  in_queue_[queue] += 1;
  if (!limit_key.empty()) under_key_[{queue, limit_key}] += 1;
  if (!group.empty()) groups_taken_.insert({queue, group});
}

Blocked Slots::why(const KnownJob& job, Instant now, WallTime wall) const {
  const bool expired = job.expired(now);
  if (!expired && job.state != JobState::ready) return Blocked::not_waiting;
  const auto found = queues_.find(job.queue);
  const KnownQueue queue = found == queues_.end() ? KnownQueue{} : found->second;
  if (queue.paused) return Blocked::paused;
  if (expired) return Blocked::no;  // it has its slots
  if (job.run_at > wall) return Blocked::not_its_time;
  if (keeps_slot_.contains(job.id)) return Blocked::own_slot;
  if (!job.group.empty()) {
    const Name group{job.queue, job.group};
    if (groups_taken_.contains(group) || first_place_.at(group) != job.place) return Blocked::group;
  }
  const auto of = [](const auto& counts, const auto& name) {
    const auto count = counts.find(name);
    return count == counts.end() ? 0 : count->second;
  };
  if (queue.settings.limit > 0 && of(in_queue_, job.queue) >= queue.settings.limit) return Blocked::limit;
  const bool counted = queue.settings.limit_per_key > 0 && !job.limit_key.empty();
  if (counted && of(under_key_, Name{job.queue, job.limit_key}) >= queue.settings.limit_per_key)
    return Blocked::limit_key;
  return Blocked::no;
}

}  // namespace fenceline::sim
