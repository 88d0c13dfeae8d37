// Whose turn it is: when a resource is free, and from when on a request may have it.
#include <algorithm>
#include <tuple>

#include "backends/memory/memory_store.hpp"

namespace fenceline {
namespace {

std::vector<std::string> resources_of(const std::string& name, int slots) {
  std::vector<std::string> resources{name};
  for (int slot = 2; slot <= slots; ++slot) resources.push_back(name + "#" + std::to_string(slot));
  return resources;
}

}  // namespace

const MemoryStore::Lock* MemoryStore::find_lock(const Space& space, const std::string& resource) {
  const auto found = space.locks.find(resource);
  return found == space.locks.end() ? nullptr : &found->second;
}

bool MemoryStore::is_held(const Lock& lock, const Now& now) {
  return std::ranges::any_of(lock.holders, [&](const Holder& holder) { return is_alive(holder, now); });
}

MemoryStore::Lock MemoryStore::brought_back(Lock lock, const Now& now) {
  if (lock.bar_length > Duration{0}) lock.bar = brought_back(lock.bar, lock.bar_length, now);
  lock.freed_at = std::min(lock.freed_at, now.lease);
  for (Holder& holder : lock.holders) {
    holder.lease_end = brought_back(holder.lease_end, holder.ttl, now);
    holder.known_until = brought_back(holder.known_until, 2 * holder.ttl, now);
  }
  return lock;
}

void MemoryStore::bring_locks_back(Space& space, const AcquireRequest& request, const Now& now) {
  for (auto& [resource, lock] : space.locks) {
    if (std::ranges::binary_search(request.names, resource.substr(0, resource.find('#'))))
      lock = brought_back(std::move(lock), now);
  }
  for (auto& [place, queuer] : space.lock_queue) {
    if (std::ranges::binary_search(request.names, queuer.name))
      queuer.seen_until = brought_back(queuer.seen_until, kLockWaiterKeptFor, now);
  }
  // Who was silent for too long has left, also if the clock goes back behind that moment.
  std::erase_if(space.lock_queue, [&](const auto& queuer) {
    return queuer.second.seen_until <= now.lease && std::ranges::binary_search(request.names, queuer.second.name);
  });
}

Instant MemoryStore::free_from(const Lock* lock) {
  if (!lock) return Instant::min();
  Instant from = std::max(lock->bar, lock->freed_at);
  for (const Holder& holder : lock->holders) {
    if (!holder.released) from = std::max(from, holder.lease_end + lock->delay);
  }
  return from;
}

std::set<std::string> MemoryStore::locks_in_use(const Space& space, const Now& now) {
  std::set<std::string> names;
  for (const auto& [place, queuer] : space.lock_queue) names.insert(queuer.name);
  for (const auto& [resource, lock] : space.locks) {
    if (free_from(&lock) > now.lease) names.insert(resource.substr(0, resource.find('#')));
  }
  return names;
}

// The place of this very request, if it has not left the queue by staying silent.
const MemoryStore::LockQueuer* MemoryStore::find_queuer(const Space& space, const AcquireRequest& request,
                                                        const std::string& name, const Now& now) {
  for (const auto& [place, queuer] : space.lock_queue) {
    if (queuer.name == name && queuer.owner == request.owner && queuer.request == request.request &&
        queuer.seen_until > now.lease)
      return &queuer;
  }
  return nullptr;
}

// A shared request may join a phase that has holders.
bool MemoryStore::joins(const Lock* lock, const AcquireRequest& request, const Now& now) {
  return lock && request.mode == LockMode::shared && lock->mode == LockMode::shared && is_held(*lock, now);
}

MemoryStore::Standing MemoryStore::stand(const Space& space, const AcquireRequest& request, const std::string& name,
                                         const Now& now) {
  Standing standing;
  bool exclusive_ahead = false;
  const LockQueuer* own = find_queuer(space, request, name, now);
  std::vector<std::pair<std::int64_t, Instant>> before;  // places, and when each last asked
  for (const auto& [place, queuer] : space.lock_queue) {
    if (&queuer == own) break;
    if (queuer.seen_until <= now.lease || queuer.name != name) continue;
    before.emplace_back(place, queuer.asked_at());
    if (queuer.mode == LockMode::exclusive) exclusive_ahead = true;
  }
  standing.ahead = static_cast<std::int64_t>(before.size());
  const std::int64_t counted = request.mode == LockMode::exclusive || exclusive_ahead ? standing.ahead : 0;
  if (counted == 0 && joins(find_lock(space, name), request, now)) {
    standing.resource = name;
    return standing;
  }

  // By the moment at which each is free; of those that are free by then the first in number.
  std::vector<std::pair<Instant, int>> free;
  const std::vector<std::string> resources = resources_of(name, request.slots);
  for (int slot = 0; slot < request.slots; ++slot)
    free.emplace_back(free_from(find_lock(space, resources[static_cast<std::size_t>(slot)])), slot);
  std::ranges::sort(free);
  standing.may_have = Instant::max();
  for (std::size_t j = 0; j < free.size(); ++j) {
    const std::int64_t turns = std::max<std::int64_t>(0, counted - static_cast<std::int64_t>(j));
    standing.may_have = std::min(standing.may_have, std::max(free[j].first, free.front().first + turns * kLockTurn));
  }
  int slot = free.front().second;
  standing.free = free.front().first;
  if (standing.may_have <= now.lease) {
    std::int64_t passed = counted + 1;
    for (const auto& [from, number] : free) {
      if (from > now.lease) continue;
      slot = std::min(slot, number);
      passed -= 1;
    }
    for (std::int64_t i = 0; i < passed; ++i) {
      const auto& [place, asked_at] = before[static_cast<std::size_t>(i)];
      if (asked_at < standing.free) standing.silent.push_back(place);
    }
  }
  standing.resource = resources[static_cast<std::size_t>(slot)];
  return standing;
}

LockHeld MemoryStore::held_by(const Space& space, const Standing& standing, const Now& now) {
  LockHeld held{.resource = standing.resource, .reason = Reason::turn};
  const Lock* lock = find_lock(space, standing.resource);
  if (!lock) return held;
  held.fence = lock->fence;
  if (standing.free <= now.lease) return held;
  held.reason = is_held(*lock, now) ? Reason::held : lock->bar > now.lease ? Reason::barred : Reason::delayed;
  const Holder* last = nullptr;
  for (const Holder& holder : lock->holders) {
    if (!is_alive(holder, now)) continue;
    if (!last || std::tie(last->lease_end, holder.owner) < std::tie(holder.lease_end, last->owner)) last = &holder;
  }
  if (last) {
    held.owner = last->owner;
    held.place = last->place;
  }
  return held;
}

void MemoryStore::take_places(Space& space, const AcquireRequest& request, const Now& now) {
  const Instant seen_until = now.lease + kLockWaiterKeptFor;
  bool kept = false;
  for (auto& [at, queuer] : space.lock_queue) {
    if (queuer.owner != request.owner || queuer.request != request.request || queuer.seen_until <= now.lease) continue;
    queuer.seen_until = seen_until;
    kept = true;
  }
  if (kept) return;
  for (const std::string& name : request.names) {
    space.lock_queue[++last_place_] = {name,          request.owner, request.request, request.mode,
                                       request.place, now.wall,      seen_until};
  }
}

void MemoryStore::send_to_the_end(Space& space, const std::vector<std::int64_t>& places) {
  for (const std::int64_t place : places) {
    auto queuer = space.lock_queue.extract(place);
    queuer.key() = ++last_place_;
    space.lock_queue.insert(std::move(queuer));
  }
}

std::int64_t MemoryStore::tidy_locks(Space& space, int limit, bool& more, const Now& now) {
  std::erase_if(space.lock_queue, [&](const auto& queuer) { return queuer.second.seen_until <= now.lease; });
  std::erase_if(space.withdrawn, [&](const auto& until) { return until.second <= now.lease; });
  std::set<std::string> waited_for;
  for (const auto& [place, queuer] : space.lock_queue) waited_for.insert(queuer.name);
  std::vector<std::pair<Instant, std::string>> over;
  for (auto& [resource, lock] : space.locks) {
    lock = brought_back(std::move(lock), now);
    const Instant from = free_from(&lock);
    if (from + kFreeLockKeptFor <= now.lease && !waited_for.contains(resource.substr(0, resource.find('#'))))
      over.emplace_back(from, resource);
  }
  std::ranges::sort(over);
  if (over.size() > static_cast<std::size_t>(limit)) {
    over.resize(static_cast<std::size_t>(limit));
    more = true;
  }
  for (const auto& [from, resource] : over) {
    floor_ = std::max(floor_, space.locks.at(resource).fence);
    space.locks.erase(resource);
  }
  return static_cast<std::int64_t>(over.size());
}

}  // namespace fenceline
