// Locks: the verbs. Whose turn it is stands in memory_lock_turns.cpp.
#include <algorithm>
#include <tuple>

#include "backends/memory/memory_store.hpp"

namespace fenceline {

MemoryStore::Holder* MemoryStore::find_holder(Lock& lock, const std::string& owner) {
  const auto found = std::ranges::find(lock.holders, owner, &Holder::owner);
  return found == lock.holders.end() ? nullptr : &*found;
}

// What a request that was granted before is told; empty: it was not.
std::optional<Result<AcquireReply>> MemoryStore::granted_before(const Space& space, const AcquireRequest& request,
                                                                const Now& now) {
  AcquireReply reply;
  reply.left = Duration::max();
  std::size_t found = 0;
  for (const auto& [resource, lock] : space.locks) {
    if (!std::ranges::binary_search(request.names, resource.substr(0, resource.find('#')))) continue;
    for (const Holder& holder : lock.holders) {
      if (holder.owner != request.owner || holder.request != request.request) continue;
      found += 1;
      if (!is_alive(holder, now)) continue;
      reply.grants.push_back({resource, lock.fence, holder.previous_owner});
      reply.left = std::min(reply.left, holder.lease_end - now.lease);
    }
  }
  if (found == 0) return std::nullopt;
  if (reply.grants.size() == request.names.size()) return reply;
  return fail(Code::lost, "the lease of " + request.names.front() +
                              " that this request got has ended; ask again with a new request");
}

Result<std::vector<Fence>> MemoryStore::mint_locks(const Space& space, const AcquireRequest& request,
                                                   const std::vector<Standing>& standings, const Now& now) const {
  std::vector<Fence> fences;
  for (const Standing& standing : standings) {
    const Lock* lock = find_lock(space, standing.resource);
    if (joins(lock, request, now)) {
      fences.push_back(lock->fence);
      continue;
    }
    const Result<Fence> fence = next_fence(std::max(floor_, lock ? lock->fence : 0), now.wall);
    if (!fence) return std::unexpected(fence.error());
    fences.push_back(*fence);
  }
  return fences;
}

LockGrant MemoryStore::grant_lock(Lock& lock, const AcquireRequest& request, const Standing& standing, Fence fence,
                                  const Now& now) {
  LockGrant grant{standing.resource, fence, ""};
  if (!joins(&lock, request, now)) {
    const Holder* previous = nullptr;
    for (const Holder& holder : lock.holders) {
      if (holder.released) continue;
      if (!previous || std::tie(previous->lease_end, holder.owner) < std::tie(holder.lease_end, previous->owner))
        previous = &holder;
    }
    if (previous) grant.previous_owner = previous->owner;
    // A break that was answered is known for good, so that its repeat does not end what was granted after it.
    lock = Lock{.fence = fence,
                .mode = request.mode,
                .to_its_end = request.to_its_end,
                .delay = request.delay,
                .break_request = lock.break_request,
                .broken = lock.broken};
    lock.bar_length = request.to_its_end ? request.ttl : request.hold_at_least;
    if (lock.bar_length > Duration{0}) lock.bar = now.lease + lock.bar_length;
  }
  lock.pattern = request.pattern;
  std::erase_if(lock.holders, [&](const Holder& holder) { return holder.known_until <= now.lease; });
  lock.holders.push_back({request.owner, request.request, request.place, grant.previous_owner, now.wall, request.ttl,
                          now.lease + request.ttl, now.lease + 2 * request.ttl});
  return grant;
}

Result<AcquireReply> MemoryStore::acquire(const AcquireRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard guard(mutex_);
  const Now now = this->now();
  Space& space = spaces_[request.ns];
  bring_locks_back(space, request, now);
  const auto withdrawn = space.withdrawn.find({request.owner, request.request});
  if (withdrawn != space.withdrawn.end() && withdrawn->second > now.lease)
    return fail(Code::refused, "this request was withdrawn; ask again with a new request");
  if (auto before = granted_before(space, request, now)) return std::move(*before);

  AcquireReply reply;
  std::vector<Standing> standings;
  Instant all_from = Instant::min();
  for (const std::string& name : request.names) {
    const Standing& standing = standings.emplace_back(stand(space, request, name, now));
    all_from = std::max(all_from, standing.may_have);
    reply.ahead = std::max(reply.ahead, standing.ahead);
    if (standing.may_have > now.lease && !reply.held) reply.held = held_by(space, standing, now);
  }
  if (reply.held) {
    reply.again_in = std::max<Duration>(all_from - now.lease, std::chrono::milliseconds{1});
    if (request.wait) take_places(space, request, now);
    return reply;
  }

  const Result<std::vector<Fence>> fences = mint_locks(space, request, standings, now);
  if (!fences) return std::unexpected(fences.error());
  for (std::size_t i = 0; i < standings.size(); ++i) {
    reply.grants.push_back(grant_lock(space.locks[standings[i].resource], request, standings[i], (*fences)[i], now));
    send_to_the_end(space, standings[i].silent);
  }
  reply.left = request.ttl;
  reply.ahead = 0;
  std::erase_if(space.lock_queue, [&](const auto& queuer) {
    return queuer.second.owner == request.owner && queuer.second.request == request.request;
  });
  return reply;
}

Reason MemoryStore::lock_refusal(const Lock* lock, const LockHolding& sent) {
  if (!lock) return Reason::not_found;
  if (lock->fence != sent.fence) return Reason::superseded;
  if (std::ranges::find(lock->holders, sent.owner, &Holder::owner) == lock->holders.end()) return Reason::other_owner;
  return lock->to_its_end ? Reason::to_its_end : Reason::none;
}

Result<RenewReply> MemoryStore::renew(const RenewRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard guard(mutex_);
  const Now now = this->now();
  RenewReply reply{.left = request.ttl};
  Space& space = spaces_[request.ns];
  for (const LockHolding& sent : request.locks) {
    const auto found = space.locks.find(sent.resource);
    Lock* lock = found == space.locks.end() ? nullptr : &found->second;
    Reason reason = lock_refusal(lock, sent);
    if (reason == Reason::none) {
      Holder& holder = *find_holder(*lock, sent.owner);
      if (is_alive(holder, now)) {
        holder.ttl = request.ttl;
        holder.lease_end = now.lease + request.ttl;
        holder.known_until = now.lease + 2 * request.ttl;
        continue;
      }
      reason = holder.released ? Reason::released : Reason::expired;
    }
    reply.refused.push_back({sent, lock ? lock->fence : 0, reason});
  }
  return reply;
}

Result<ReleaseReply> MemoryStore::release(const ReleaseRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  ReleaseReply reply;
  Changes changes;
  {
    const std::lock_guard guard(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    for (const LockHolding& sent : request.locks) {
      const auto found = space.locks.find(sent.resource);
      Lock* lock = found == space.locks.end() ? nullptr : &found->second;
      if (const Reason reason = lock_refusal(lock, sent); reason != Reason::none) {
        reply.refused.push_back({sent, lock ? lock->fence : 0, reason});
        continue;
      }
      Holder& holder = *find_holder(*lock, sent.owner);
      if (holder.released) continue;
      holder.released = true;
      lock->freed_at = now.lease;
      changes.locks.insert(sent.resource.substr(0, sent.resource.find('#')));
    }
  }
  tell(request.ns, changes);
  return reply;
}

Result<void> MemoryStore::withdraw(const WithdrawRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard guard(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    space.withdrawn[{request.owner, request.request}] = now.lease + request.ttl;
    const auto left = std::erase_if(space.lock_queue, [&](const auto& queuer) {
      return queuer.second.owner == request.owner && queuer.second.request == request.request;
    });
    if (left > 0) changes.locks.insert(request.names.begin(), request.names.end());
    for (auto& [resource, lock] : space.locks) {
      const std::string name = resource.substr(0, resource.find('#'));
      if (lock.to_its_end || !std::ranges::binary_search(request.names, name)) continue;
      for (Holder& holder : lock.holders) {
        if (holder.owner != request.owner || holder.request != request.request || holder.released) continue;
        holder.released = true;
        lock.freed_at = now.lease;
        changes.locks.insert(name);
      }
    }
  }
  tell(request.ns, changes);
  return {};
}

LockRow MemoryStore::shown(const Space& space, const std::string& resource, const Lock& kept, const Now& now) {
  const Lock lock = brought_back(kept, now);
  LockRow row{.resource = resource, .fence = lock.fence, .mode = lock.mode, .pattern = lock.pattern};
  for (const Holder& holder : lock.holders) {
    if (!holder.released)
      row.holders.push_back({holder.owner, holder.place, holder.granted_at, holder.lease_end - now.lease});
  }
  row.holders_count = static_cast<std::int64_t>(row.holders.size());
  std::ranges::sort(row.holders, [](const LockHolder& a, const LockHolder& b) {
    return std::tie(a.granted_at, a.owner) < std::tie(b.granted_at, b.owner);
  });
  if (row.holders.size() > kLockPeopleShown) row.holders.resize(kLockPeopleShown);
  if (const Instant from = free_from(&lock); from > now.lease) row.free_in = from - now.lease;
  for (const auto& [place, queuer] : space.lock_queue) {
    if (queuer.seen_until <= now.lease || queuer.name != resource) continue;
    row.waiters_count += 1;
    if (row.waiters.size() < kLockPeopleShown)
      row.waiters.push_back({queuer.owner, queuer.place, queuer.since, queuer.mode});
  }
  return row;
}

Result<LocksReply> MemoryStore::locks(const LocksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard guard(mutex_);
  const Now now = this->now();
  LocksReply reply;
  const Space* space = find_space(request.ns);
  if (!space) return reply;
  for (const auto& [resource, lock] : space->locks) {
    if (resource <= request.after || !resource.starts_with(request.prefix)) continue;
    if (request.held && free_from(&lock) <= now.lease) continue;
    if (reply.locks.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = reply.locks.back().resource;
      break;
    }
    reply.locks.push_back(shown(*space, resource, lock, now));
  }
  return reply;
}

Result<std::optional<LockRow>> MemoryStore::lock(const std::string& ns, const std::string& resource) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (auto ok = check_lock_resource(resource); !ok) return std::unexpected(ok.error());
  const std::lock_guard guard(mutex_);
  const Space* space = find_space(ns);
  const Lock* lock = space ? find_lock(*space, resource) : nullptr;
  if (!lock) return std::nullopt;
  return shown(*space, resource, *lock, now());
}

Result<BreakReply> MemoryStore::break_lock(const BreakRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  BreakReply reply;
  Changes changes;
  {
    const std::lock_guard guard(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    const auto found = space.locks.find(request.resource);
    if (found != space.locks.end() && found->second.break_request == request.request) return found->second.broken;
    if (found == space.locks.end() || free_from(&found->second) <= now.lease)
      return fail(Code::not_found, "lock " + request.resource + " is not held");
    Lock& lock = found->second;
    if (request.only && *request.only != lock.fence)
      return fail(Code::refused, "lock " + request.resource + " has fence " + std::to_string(lock.fence) +
                                     " now, not " + std::to_string(*request.only));
    const Result<Fence> fence = next_fence(std::max(floor_, lock.fence), now.wall);
    if (!fence) return std::unexpected(fence.error());
    reply = {.ended = lock.fence, .current = *fence};
    lock.fence = *fence;
    lock.bar = Instant::min();
    lock.delay = Duration{0};
    lock.freed_at = now.lease;
    for (Holder& holder : lock.holders) holder.released = true;
    lock.break_request = request.request;
    lock.broken = reply;
    note_act(request.ns, request.act, "lock_broken", request.resource + " " + std::to_string(reply.ended), now);
    changes.locks.insert(request.resource.substr(0, request.resource.find('#')));
  }
  tell(request.ns, changes);
  return reply;
}

}  // namespace fenceline
