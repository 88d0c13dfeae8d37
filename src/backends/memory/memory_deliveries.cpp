// What a holder does with its delivery: renew it, end it with an outcome; and the history that it leaves.
#include "backends/memory/memory_store.hpp"

namespace fenceline {

// The reasons that extend and settle share, in the order of the header; none: sent by the newest holder.
Reason MemoryStore::refusal(const Entry* entry, const std::string& owner, Fence sent) {
  if (!entry) return Reason::not_found;
  if (entry->job.fence != sent) return Reason::superseded;
  if (entry->job.owner != owner) return Reason::other_owner;
  return Reason::none;
}

void MemoryStore::begin_attempt(Entry& entry, const Now& now) {
  Attempt attempt;
  attempt.delivery = entry.job.deliveries;
  attempt.fence = entry.job.fence;
  attempt.owner = entry.job.owner;
  attempt.started_at = now.wall;
  entry.attempts.push_back(std::move(attempt));
  if (entry.attempts.size() > kAttemptsKept) entry.attempts.erase(entry.attempts.begin());
  entry.log_end = 0;
}

void MemoryStore::end_attempt(Entry& entry, AttemptEnd end, const Outcome& outcome, const Now& now) {
  Attempt& attempt = entry.attempts.back();
  attempt.ended_at = now.wall;
  attempt.end = end;
  attempt.exit_status = outcome.exit_status;
  if (end == AttemptEnd::failed || end == AttemptEnd::dead) attempt.error = outcome.error;
}

void MemoryStore::note_free_slot(const Space& space, const Entry& entry, Changes& changes) {
  const QueueSettings& settings = queue_of(space, entry.job.queue).settings;
  const bool someone_may_wait = !entry.job.group.empty() || settings.limit > 0 || settings.limit_per_key > 0;
  if (someone_may_wait) changes.claimable.emplace(entry.job.queue, std::nullopt);
}

void MemoryStore::settle_delivery(Space& space, Entry& entry, const Outcome& outcome, const Now& now,
                                  Changes& changes) {
  entry.job = settled(entry.job, outcome, now.wall);
  end_attempt(entry, attempt_end(outcome.kind), outcome, now);
  if (entry.job.state == JobState::ready) changes.claimable.emplace(entry.job.queue, entry.job.stage);
  note_free_slot(space, entry, changes);
}

Result<ExtendReply> MemoryStore::extend(const ExtendRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Space& space = spaces_[request.ns];
  ExtendReply reply;
  reply.left = request.ttl;
  for (const Holding& holding : request.jobs) {
    Entry* entry = find_job(space, holding.id);
    Reason reason = refusal(entry, request.owner, holding.fence);
    if (reason == Reason::none) {
      if (is_finished(entry->job.state)) reason = Reason::finished;
      else if (entry->job.state != JobState::running) reason = Reason::settled;
      else if (expired(*entry, now)) reason = Reason::expired;
    }
    if (reason != Reason::none) {
      reply.refused.push_back({holding.id, holding.fence, entry ? entry->job.fence : 0, reason});
      continue;
    }
    entry->lease_end = now.lease + request.ttl;
    entry->ttl = request.ttl;
  }
  return reply;
}

Result<SettleReply> MemoryStore::settle(const SettleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  SettleReply reply;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    for (const Settlement& settlement : request.settlements) {
      Entry* entry = find_job(space, settlement.id);
      Reason reason = refusal(entry, request.owner, settlement.fence);
      const bool running = entry && entry->job.state == JobState::running;
      const bool repeat = entry && !running && entry->job.last_outcome == settlement.outcome.kind;
      if (reason == Reason::none && !running && !repeat)
        reason = is_finished(entry->job.state) ? Reason::finished : Reason::settled;
      if (reason != Reason::none)
        reply.refused.push_back({settlement.id, settlement.fence, entry ? entry->job.fence : 0, reason});
      else if (running) settle_delivery(space, *entry, settlement.outcome, now, changes);
    }
  }
  tell(request.ns, changes);
  return reply;
}

}  // namespace fenceline
