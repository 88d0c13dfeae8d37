// Why a job is where it is, and what lies before a draining worker: looks that change nothing.
#include <algorithm>

#include "backends/memory/memory_store.hpp"

namespace fenceline {

Result<BacklogReply> MemoryStore::backlog(const BacklogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  constexpr std::int64_t kCountedMost = 100'000;
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  BacklogReply reply;
  const Space* space = find_space(request.ns);
  if (!space) return reply;
  const Slots slots = slots_of(*space, now);
  for (const auto& [id, entry] : space->jobs) {
    const Job& job = entry.job;
    const bool asked = std::find(request.queues.begin(), request.queues.end(), job.queue) != request.queues.end();
    if (job.stage != request.stage || !asked) continue;
    if (expired(entry, now) || due(entry, now)) {
      // One whose fifth loss is at hand counts: the claim that buries it is still to come.
      if (!is_paused(*space, job.queue) && has_room(*space, slots, entry, now)) reply.claimable = true;
      else reply.blocked = std::min(reply.blocked + 1, kCountedMost);
    } else if (job.state == JobState::running) {
      reply.running = true;
    } else if (job.state == JobState::ready) {
      reply.ahead = std::min(reply.ahead + 1, kCountedMost);
      const Duration due_in = job.run_at - now.wall;
      reply.next_due = std::min(reply.next_due.value_or(due_in), due_in);
    }
  }
  return reply;
}

Result<std::optional<JobFacts>> MemoryStore::facts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Space* space = find_space(ns);
  const Entry* entry = space ? find_job(*space, id) : nullptr;
  if (!entry) return std::nullopt;
  const Job& job = entry->job;
  const Slots slots = slots_of(*space, now);
  const QueueSettings& settings = queue_of(*space, job.queue).settings;

  JobFacts facts;
  facts.job = shown(*entry, now);
  facts.paused = queue_of(*space, job.queue).paused;
  if (job.state == JobState::ready && job.run_at > now.wall) facts.due_in = job.run_at - now.wall;

  const auto first_ten = [](std::vector<const Entry*> holders) {
    std::sort(holders.begin(), holders.end(), [](const Entry* a, const Entry* b) { return a->order < b->order; });
    std::vector<JobId> ids;
    for (std::size_t i = 0; i < holders.size() && i < kHoldersShown; ++i) ids.push_back(holders[i]->job.id);
    return ids;
  };
  if (job.state == JobState::ready || job.state == JobState::waiting) {
    if (!job.group.empty()) {
      const InQueue group{job.queue, job.group};
      const auto has_slot = slots.of_group.find(group);
      const Entry* first = has_slot != slots.of_group.end() ? has_slot->second : slots.heads.at(group);
      if (first != entry) {
        facts.group_head = first->job.id;
        facts.group_head_revoked = keeps_slot(*first, now);
      }
    }
    if (queue_is_full(*space, slots, job)) {
      facts.limit = settings.limit;
      facts.limit_holders = first_ten(slots.of_queue.at(job.queue));
    }
    if (limit_key_is_full(*space, slots, job)) {
      facts.limit_per_key = settings.limit_per_key;
      facts.limit_key_holders = first_ten(slots.of_limit_key.at({job.queue, job.limit_key}));
    }
  }
  if (job.state == JobState::waiting) facts.effects_in_doubt = waited_for(*entry);
  if (is_finished(job.state)) {
    const Entry* holder = job.key.empty() ? nullptr : key_holder(*space, job.queue, job.key, now);
    if (holder) facts.key_holder = holder->job.id;
  } else {
    facts.must_run_alone = must_run_alone_now(*entry, now);
  }
  if (keeps_slot(*entry, now))
    facts.slot_left = brought_back(entry->revoked->lease_end, entry->revoked->ttl, now) - now.lease;
  std::vector<const WorkerRow*> quiet;
  for (const auto& [owner, row] : space->workers) {
    const WorkerReport& report = row.report;
    const bool serves = report.stage == job.stage &&
                        std::find(report.queues.begin(), report.queues.end(), job.queue) != report.queues.end();
    if (!serves || now.wall - row.seen_at > report.ttl) continue;
    if (row.order == WorkerOrder::work) facts.workers += 1;
    if (row.order == WorkerOrder::quiet) quiet.push_back(&row);
  }
  std::stable_sort(quiet.begin(), quiet.end(),
                   [](const WorkerRow* a, const WorkerRow* b) { return a->started_at < b->started_at; });
  for (std::size_t i = 0; i < quiet.size() && i < kHoldersShown; ++i)
    facts.quiet_workers.push_back(quiet[i]->report.owner);
  return facts;
}

Result<std::vector<Attempt>> MemoryStore::attempts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  Space* space = find_space(ns);
  const Entry* entry = space ? find_job(*space, id) : nullptr;
  return entry ? entry->attempts : std::vector<Attempt>{};
}

}  // namespace fenceline
