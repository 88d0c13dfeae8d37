// How the memory store grants: who may be claimed, in which order, and what a grant changes.
#include <algorithm>
#include <tuple>

#include "backends/memory/memory_store.hpp"

namespace fenceline {
namespace {

bool asks_for(const ClaimRequest& request, const Job& job) {
  return job.stage == request.stage &&
         std::find(request.queues.begin(), request.queues.end(), job.queue) != request.queues.end();
}

// A duration that lies ahead replaces a later one.
void take_sooner(std::optional<Duration>& first, Duration ahead) {
  if (ahead > Duration{0} && (!first || ahead < *first)) first = ahead;
}

}  // namespace

// In the order in which they are granted, whether or not there is room for them. A job whose fifth loss is at hand is
// no candidate: it dies.
std::vector<MemoryStore::Entry*> MemoryStore::candidates(Space& space, const ClaimRequest& request, const Now& now) {
  std::vector<Entry*> run_out;
  std::vector<Entry*> ready;
  for (auto& [id, entry] : space.jobs) {
    if (!asks_for(request, entry.job) || is_paused(space, entry.job.queue)) continue;
    if (expired(entry, now) && entry.job.losses_in_row + 1 < kLossesInRowMax) run_out.push_back(&entry);
    if (due(entry, now)) ready.push_back(&entry);
  }
  std::sort(run_out.begin(), run_out.end(), [](const Entry* a, const Entry* b) {
    return std::tie(a->lease_end, a->order) < std::tie(b->lease_end, b->order);
  });
  const auto place = [&](const Entry* entry) {
    const auto queue =
        std::find(request.queues.begin(), request.queues.end(), entry->job.queue) - request.queues.begin();
    return std::tuple(queue, -entry->job.priority, entry->job.run_at, entry->order);
  };
  std::sort(ready.begin(), ready.end(), [&](const Entry* a, const Entry* b) { return place(a) < place(b); });
  run_out.insert(run_out.end(), ready.begin(), ready.end());
  return run_out;
}

bool MemoryStore::alone_could_start(Space& space, const ClaimRequest& request, const Now& now) {
  const Slots slots = slots_of(space, now);
  const std::vector<Entry*> all = candidates(space, request, now);
  return std::any_of(all.begin(), all.end(), [&](const Entry* entry) {
    return must_run_alone_now(*entry, now) && has_room(space, slots, *entry, now);
  });
}

std::optional<Duration> MemoryStore::next_due(const Space& space, const ClaimRequest& request, const Now& now) {
  std::optional<Duration> first;
  for (const auto& [id, entry] : space.jobs) {
    if (!asks_for(request, entry.job)) continue;
    if (entry.job.state == JobState::ready) take_sooner(first, entry.job.run_at - now.wall);
    if (entry.job.state == JobState::running && entry.job.owner != request.owner)
      take_sooner(first, entry.lease_end - now.lease);
  }
  return first;
}

std::vector<ClaimedJob> MemoryStore::still_held(const Space& space, const ClaimRecord& record,
                                                const ClaimRequest& request, const Now& now) {
  std::vector<ClaimedJob> held;
  for (const Granted& granted : record.granted) {
    const auto found = space.jobs.find(granted.holding.id);
    if (found == space.jobs.end()) continue;
    const Entry& entry = found->second;
    const bool same_grant = entry.job.state == JobState::running && entry.job.fence == granted.holding.fence &&
                            entry.job.owner == request.owner;
    if (!same_grant || expired(entry, now)) continue;
    held.push_back({shown(entry, now), brought_back(entry.lease_end, entry.ttl, now) - now.lease, granted.forced,
                    granted.previous_owner});
  }
  return held;
}

Fence MemoryStore::last_fence(const Space& space) {
  Fence last = 0;
  for (const auto& [id, entry] : space.jobs) last = std::max(last, entry.job.fence);
  for (const auto& [name, fence] : space.groups) last = std::max(last, fence);
  for (const auto& [resource, lock] : space.locks) last = std::max(last, lock.fence);
  return last;
}

Result<Fence> MemoryStore::minted(Space& space, const Entry& entry, const Now& now) {
  const Job& job = entry.job;
  const Fence own = std::max(job.fence, floor_);
  if (job.group.empty()) return next_fence(own, now.wall);
  Fence& of_group = space.groups[{job.queue, job.group}];
  const Result<Fence> fence = next_fence(std::max(own, of_group), now.wall);
  if (fence) of_group = *fence;
  return fence;
}

Result<std::int64_t> MemoryStore::bury(Space& space, const ClaimRequest& request, const Now& now) {
  std::int64_t buried = 0;
  for (auto& [id, entry] : space.jobs) {
    if (!asks_for(request, entry.job) || is_paused(space, entry.job.queue) || !expired(entry, now)) continue;
    Job lost = lost_delivery(entry.job, now.wall);
    if (lost.state != JobState::dead) continue;
    const Result<Fence> fence = minted(space, entry, now);
    if (!fence) return std::unexpected(fence.error());
    lost.fence = *fence;
    lost.owner.clear();
    entry.job = std::move(lost);
    end_attempt(entry, AttemptEnd::lost, {}, now);
    buried += 1;
  }
  return buried;
}

// The candidates in their order, each for which there is room at that moment.
Result<void> MemoryStore::grant(Space& space, const ClaimRequest& request, const Now& now, ClaimReply& reply) {
  Slots slots = slots_of(space, now);
  std::vector<Entry*> chosen;
  const std::vector<Entry*> all = candidates(space, request, now);
  for (Entry* entry : all) {
    if (chosen.empty() && !request.holds_others && must_run_alone_now(*entry, now) &&
        has_room(space, slots, *entry, now))
      chosen = {entry};
  }
  const bool alone = !chosen.empty();
  for (Entry* entry : all) {
    if (alone || chosen.size() == static_cast<std::size_t>(request.limit)) break;
    if (must_run_alone_now(*entry, now) || !has_room(space, slots, *entry, now)) continue;
    if (!expired(*entry, now)) slots.take(*entry);
    chosen.push_back(entry);
  }

  for (Entry* entry : chosen) {
    const Result<Fence> fence = minted(space, *entry, now);
    if (!fence) return std::unexpected(fence.error());
    ClaimedJob claimed;
    claimed.forced = expired(*entry, now);
    if (claimed.forced) {
      claimed.previous_owner = entry->job.owner;
      entry->job = lost_delivery(entry->job, now.wall);
      end_attempt(*entry, AttemptEnd::lost, {}, now);
    }
    entry->job.state = JobState::running;
    entry->job.fence = *fence;
    entry->job.owner = request.owner;
    entry->job.deliveries += 1;
    entry->lease_end = now.lease + request.ttl;
    entry->ttl = request.ttl;
    entry->request = request.request;
    begin_attempt(*entry, now);
    claimed.job = shown(*entry, now);
    claimed.left = request.ttl;
    reply.jobs.push_back(std::move(claimed));
  }
  return {};
}

Result<ClaimReply> MemoryStore::claim(const ClaimRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Space& space = spaces_[request.ns];
  std::erase_if(space.claims, [&](const auto& claim) { return claim.second.end <= now.lease; });

  bring_leases_back(space, request, now);

  ClaimReply reply;
  const std::pair key{request.owner, request.request};
  if (const auto repeated = space.claims.find(key); repeated != space.claims.end()) {
    reply.jobs = still_held(space, repeated->second, request, now);
    reply.alone_waiting = request.holds_others && alone_could_start(space, request, now);
  } else if (const auto row = space.workers.find(request.owner);
             row != space.workers.end() && row->second.order != WorkerOrder::work) {
    reply.ordered = true;
    return reply;
  } else {
    // A refusal half way must change nothing. Fences are refused only near their end, so only then is a copy needed.
    const bool fences_may_end =
        now.wall.time_since_epoch().count() > kFenceMax || std::max(floor_, last_fence(space)) + kBatchMax >= kFenceMax;
    const std::optional<Space> before = fences_may_end ? std::optional(space) : std::nullopt;
    const auto step = [&]() -> Result<void> {
      const Result<std::int64_t> buried = bury(space, request, now);
      if (!buried) return std::unexpected(buried.error());
      reply.buried = *buried;
      reply.alone_waiting = request.holds_others && alone_could_start(space, request, now);
      return grant(space, request, now, reply);
    };
    if (auto ok = step(); !ok) {
      space = before.value();
      return std::unexpected(ok.error());
    }
    if (!reply.jobs.empty()) {
      ClaimRecord& record = space.claims[key];
      record.end = now.lease + request.ttl;
      for (const ClaimedJob& job : reply.jobs)
        record.granted.push_back({{job.job.id, job.job.fence}, job.forced, job.previous_owner});
    }
  }
  if (reply.jobs.size() < static_cast<std::size_t>(request.limit)) reply.next_due = next_due(space, request, now);
  return reply;
}

Result<void> MemoryStore::give_back(const GiveBackRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    for (auto& [id, entry] : space.jobs) {
      if (entry.job.state != JobState::running || entry.job.owner != request.owner || entry.request != request.request)
        continue;
      settle_delivery(space, entry, {.kind = OutcomeKind::given_back}, now, changes);
    }
    ClaimRecord& record = space.claims[{request.owner, request.request}];
    record.end = std::max(record.end, now.lease + request.ttl);
  }
  tell(request.ns, changes);
  return {};
}

}  // namespace fenceline
