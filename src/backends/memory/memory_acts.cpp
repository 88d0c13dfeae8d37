// What people do to jobs: cancel, retry, purge. An act that ends a delivery, or cancels a job that waits after one,
// mints a new fence at once, so that its holder is refused from then on, and leaves the slot taken until that holder
// has stopped.
#include <algorithm>

#include "backends/memory/memory_store.hpp"

namespace fenceline {
namespace {

// The handler of its last delivery may still speak.
bool is_outdated_by_cancel(const Job& job) { return job.state == JobState::waiting && job.fence > 0; }

}  // namespace

void MemoryStore::note_act(const std::string& ns, const Act& act, std::string verb, std::string subject,
                           const Now& now) {
  trail_.push_back({now.wall, ns, act.actor, std::move(verb), std::move(subject), act.reason});
}

Result<void> MemoryStore::check_fence_left(const Space& space, const Entry& entry, const Now& now) const {
  Fence last = std::max(entry.job.fence, floor_);
  if (!entry.job.group.empty()) last = std::max(last, space.groups.at({entry.job.queue, entry.job.group}));
  const Result<Fence> next = next_fence(last, now.wall);
  return next ? Result<void>{} : std::unexpected(next.error());
}

// Of a group only one job runs or waits, so no fence of one job here depends on that of another.
Result<void> MemoryStore::check_fences_left(Space& space, const ActRequest& request, const Now& now) const {
  for (const JobId& id : request.ids) {
    const Entry* entry = find_job(space, id);
    if (!entry || entry->last_act == request.request) continue;
    const JobState state = entry->job.state;
    if ((state != JobState::running && !is_outdated_by_cancel(entry->job)) || (request.only && *request.only != state))
      continue;
    if (auto ok = check_fence_left(space, *entry, now); !ok) return ok;
  }
  return {};
}

void MemoryStore::revoke(Space& space, Entry& entry, AttemptEnd end, const Now& now) {
  entry.revoked = Revoked{entry.job.fence, entry.job.owner, entry.lease_end, entry.ttl};
  entry.job.fence = minted(space, entry, now).value();
  entry.job.owner.clear();
  end_attempt(entry, end, {}, now);
}

// The job, if the act is not a repeat; refusals are answered.
MemoryStore::Entry* MemoryStore::find_acted_on(Space& space, const ActRequest& request, const JobId& id,
                                               ActReply& reply) {
  Entry* entry = find_job(space, id);
  if (!entry) {
    reply.refused.push_back({id, Reason::not_found, std::nullopt});
    return nullptr;
  }
  if (entry->last_act == request.request) return nullptr;
  if (request.only && entry->job.state != *request.only) {
    reply.refused.push_back({id, Reason::state, std::nullopt});
    return nullptr;
  }
  return entry;
}

// What cancel and retry share: jobs one by one, and whom to tell after it. `act` looks at one that is not a repeat.
Result<ActReply> MemoryStore::act_on_each(const ActRequest& request, const ActOnOne& act) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Acting acting{.request = request};
  {
    const std::lock_guard lock(mutex_);
    acting.now = now();
    Space& space = spaces_[request.ns];
    if (auto ok = check_fences_left(space, request, acting.now); !ok) return std::unexpected(ok.error());
    for (const JobId& id : request.ids) {
      if (Entry* entry = find_acted_on(space, request, id, acting.reply)) act(space, *entry, acting);
    }
  }
  tell(request.ns, acting.changes);
  return std::move(acting.reply);
}

Result<ActReply> MemoryStore::cancel(const ActRequest& request) {
  return act_on_each(request, [this](Space& space, Entry& entry, Acting& acting) {
    Job& job = entry.job;
    const bool as_asked = job.state == JobState::cancelled;
    if (!as_asked && is_finished(job.state)) return acting.refuse(job.id, Reason::finished);
    entry.last_act = acting.request.request;
    if (as_asked) return;
    if (job.state == JobState::running) {
      revoke(space, entry, AttemptEnd::cancelled, acting.now);
      acting.changes.orders = true;
    } else if (is_outdated_by_cancel(job)) {
      job.fence = minted(space, entry, acting.now).value();
      job.owner.clear();
    }
    wait_for_none(entry);
    job.state = JobState::cancelled;
    job.finished_at = acting.now.wall;
    note_free_slot(space, entry, acting.changes);
    note_act(acting.request.ns, acting.request.act, "job_cancelled", to_string(job.id), acting.now);
  });
}

Result<ActReply> MemoryStore::retry(const ActRequest& request) {
  return act_on_each(request, [this](Space& space, Entry& entry, Acting& acting) {
    Job& job = entry.job;
    if (job.state == JobState::done) return acting.refuse(job.id, Reason::finished);
    if (!waited_for(entry).empty() && job.state == JobState::waiting)
      return acting.refuse(job.id, Reason::effect_in_doubt);
    if (job.state == JobState::waiting || due(entry, acting.now)) {
      entry.last_act = acting.request.request;
      return;
    }
    if (is_finished(job.state)) {
      const Entry* holder = job.key.empty() ? nullptr : key_holder(space, job.queue, job.key, acting.now);
      if (holder && holder != &entry) return acting.refuse(job.id, Reason::key_taken, holder->job.id);
      if (!job.key.empty()) space.keys[{job.queue, job.key}] = job.id;
      entry.group_order = ++last_order_;
      job.finished_at.reset();
      job.failures = 0;
      job.losses_in_row = 0;
    } else if (job.state == JobState::running) {
      revoke(space, entry, AttemptEnd::retried, acting.now);
      acting.changes.orders = true;
    }
    job.state = JobState::ready;
    job.run_at = acting.now.wall;
    entry.last_act = acting.request.request;
    acting.changes.claimable.emplace(job.queue, job.stage);
    note_act(acting.request.ns, acting.request.act, "job_retried", to_string(job.id), acting.now);
  });
}

Result<PurgeReply> MemoryStore::purge(const PurgeRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  PurgeReply reply;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    reply.next = request.after;
    std::map<std::int64_t, Entry*> oldest_first;
    for (auto& [id, entry] : space.jobs) {
      const bool idle = entry.job.state == JobState::ready || entry.job.state == JobState::waiting;
      const bool meant = entry.order > request.after && entry.order <= request.up_to;
      if (idle && meant && entry.job.queue == request.queue) oldest_first[entry.order] = &entry;
    }
    std::map<const Entry*, Fence> fences;  // of those that wait: nothing is cancelled unless there is one for each
    std::int64_t looked_at = 0;
    for (const auto& [order, entry] : oldest_first) {
      if (looked_at++ == request.limit) break;
      if (!is_outdated_by_cancel(entry->job)) continue;
      const Result<Fence> fence = minted(space, *entry, now);
      if (!fence) return std::unexpected(fence.error());
      fences.emplace(entry, *fence);
    }
    for (const auto& [order, entry] : oldest_first) {
      if (reply.cancelled == request.limit) {
        reply.more = true;
        break;
      }
      if (const auto fence = fences.find(entry); fence != fences.end()) {
        entry->job.fence = fence->second;
        entry->job.owner.clear();
      }
      wait_for_none(*entry);
      entry->job.state = JobState::cancelled;
      entry->job.finished_at = now.wall;
      reply.cancelled += 1;
      reply.next = order;
      note_free_slot(space, *entry, changes);
    }
    if (reply.cancelled > 0)
      note_act(request.ns, request.act, "queue_purged",
               request.queue + ": " + std::to_string(reply.cancelled) + " jobs", now);
  }
  tell(request.ns, changes);
  return reply;
}

}  // namespace fenceline
