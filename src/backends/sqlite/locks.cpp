// Granting locks: whose turn it is, and what a request is told. The rule stands in store/lock_store.hpp.
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/lock_rows.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kWithdrawn =
    "SELECT 1 FROM fenceline_lock_withdrawn WHERE ns_id = ?1 AND owner = ?2 AND request = ?3 AND until > ?4";

using Slots = std::vector<std::optional<LockRecord>>;

std::string resource_of(const std::string& name, std::size_t slot) {
  return slot == 0 ? name : name + "#" + std::to_string(slot + 1);
}

// How a request stands to one of its names.
struct RequestStanding {
  std::size_t slot = 0;                 // to be granted; if not now, the one that is free first
  std::int64_t free_from = kSinceEver;  // that one
  std::int64_t may_have = kSinceEver;   // one of them
  bool joins = false;
  std::int64_t ahead = 0;
  std::optional<std::int64_t> turn = std::nullopt;  // its own place in the queue
  std::vector<std::int64_t> silent = {};            // places of those who let their turn pass, if it is granted now
};

// What a request that was granted before is told; empty: it was not.
std::optional<Result<AcquireReply>> granted_before(Call& call, std::int64_t ns_id, const AcquireRequest& request,
                                                   const std::vector<Slots>& known) {
  AcquireReply reply;
  reply.waited = call.waited;
  reply.left = Duration::max();
  bool found = false;
  for (const Slots& slots : known) {
    for (const auto& lock : slots) {
      const std::optional<LockLease> lease = lock ? lease_of(call, ns_id, *lock, request.owner) : std::nullopt;
      if (!lease || lease->request != request.request) continue;
      found = true;
      if (!lease->is_alive(call.now_us())) continue;
      reply.grants.push_back({lock->resource, lock->fence, lease->previous_owner});
      reply.left = std::min(reply.left, Duration{lease->lease_end - call.now_us()});
    }
  }
  if (!found) return std::nullopt;
  if (reply.grants.size() == request.names.size()) return reply;
  return fail(Code::lost, "the lease of " + request.names.front() +
                              " that this request got has ended; ask again with a new request");
}

RequestStanding stand(Call& call, std::int64_t ns_id, const AcquireRequest& request, const std::string& name,
                      const Slots& slots) {
  RequestStanding standing;
  bool exclusive_ahead = false;
  const std::vector<LockPlace> waiters = live_waiters(call, ns_id, name);
  for (const LockPlace& place : waiters) {
    if (place.owner == request.owner && place.request == request.request) {
      standing.turn = place.turn;
      break;
    }
    standing.ahead += 1;
    exclusive_ahead = exclusive_ahead || place.mode == LockMode::exclusive;
  }
  const bool shared = request.mode == LockMode::shared;
  const std::int64_t counted = !shared || exclusive_ahead ? standing.ahead : 0;
  const std::optional<LockRecord>& first = slots.front();
  if (shared && counted == 0 && first && first->mode == LockMode::shared && first->is_held(call.now_us())) {
    standing.joins = true;
    return standing;
  }
  std::vector<std::pair<std::int64_t, std::size_t>> free;
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    free.emplace_back(slots[slot] ? slots[slot]->free_from() : kSinceEver, slot);
  std::ranges::sort(free);
  standing.may_have = std::numeric_limits<std::int64_t>::max();
  for (std::size_t j = 0; j < free.size(); ++j) {
    const std::int64_t turns = std::max<std::int64_t>(0, counted - static_cast<std::int64_t>(j));
    standing.may_have =
        std::min(standing.may_have, std::max(free[j].first, free.front().first + turns * Duration{kLockTurn}.count()));
  }
  std::tie(standing.free_from, standing.slot) = free.front();
  if (standing.may_have > call.now_us()) return standing;
  std::int64_t passed = counted + 1;
  for (const auto& [from, slot] : free) {
    if (from > call.now_us()) continue;
    standing.slot = std::min(standing.slot, slot);
    passed -= 1;
  }
  for (std::int64_t i = 0; i < passed; ++i) {
    const LockPlace& place = waiters[static_cast<std::size_t>(i)];
    if (place.asked_at < standing.free_from) standing.silent.push_back(place.turn);
  }
  return standing;
}

LockHeld held_by(Call& call, const std::string& name, const RequestStanding& standing,
                 const std::optional<LockRecord>& lock) {
  LockHeld held{.resource = resource_of(name, standing.slot), .reason = Reason::turn};
  if (!lock) return held;
  held.fence = lock->fence;
  if (standing.free_from <= call.now_us()) return held;
  held.reason = lock->is_held(call.now_us()) ? Reason::held
                : lock->bar > call.now_us()  ? Reason::barred
                                             : Reason::delayed;
  if (!lock->is_held(call.now_us())) return held;
  held.owner = lock->lease->owner;
  held.place = lock->lease->place;
  return held;
}

Result<LockGrant> grant_lock(Call& call, std::int64_t ns_id, const AcquireRequest& request, const std::string& name,
                             const RequestStanding& standing, const std::optional<LockRecord>& lock, Fence floor) {
  if (standing.joins) {
    join_phase(call, ns_id, request, *lock);
    return LockGrant{name, lock->fence, ""};
  }
  const Result<Fence> fence = next_fence(std::max(floor, lock ? lock->fence : 0), call.wall);
  if (!fence) return std::unexpected(fence.error());
  LockGrant granted{resource_of(name, standing.slot), *fence, ""};
  if (lock && lock->lease && !lock->lease->released) granted.previous_owner = lock->lease->owner;
  begin_phase(call, ns_id, request, granted, lock);
  return granted;
}

}  // namespace

Result<AcquireReply> acquire(Call& call, const AcquireRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  if (call.db.number(kWithdrawn, ns_id, request.owner, request.request, call.now_us()))
    return fail(Code::refused, "this request was withdrawn; ask again with a new request");
  std::vector<Slots> known;
  for (const std::string& name : request.names) known.push_back(find_slots(call, ns_id, name, request.slots));
  if (auto before = granted_before(call, ns_id, request, known)) return std::move(*before);

  AcquireReply reply;
  reply.waited = call.waited;
  std::vector<RequestStanding> standings;
  std::int64_t all_from = kSinceEver;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const RequestStanding& standing = standings.emplace_back(stand(call, ns_id, request, request.names[i], known[i]));
    all_from = std::max(all_from, standing.may_have);
    reply.ahead = std::max(reply.ahead, standing.ahead);
    if (standing.may_have > call.now_us() && !reply.held)
      reply.held = held_by(call, request.names[i], standing, known[i][standing.slot]);
  }
  if (reply.held) {
    reply.again_in = std::max<Duration>(Duration{all_from - call.now_us()}, std::chrono::milliseconds{1});
    for (std::size_t i = 0; request.wait && i < standings.size(); ++i) {
      if (standings[i].turn) keep_place(call, ns_id, request.names[i], *standings[i].turn);
      else take_place(call, ns_id, request.names[i], request);
    }
    return reply;
  }

  const Fence floor = floor_of_fences(call);
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const std::string& name = request.names[i];
    Result<LockGrant> granted =
        grant_lock(call, ns_id, request, name, standings[i], known[i][standings[i].slot], floor);
    if (!granted) return std::unexpected(granted.error());
    reply.grants.push_back(std::move(*granted));
    for (const std::int64_t turn : standings[i].silent) go_to_the_end(call, ns_id, name, turn);
    if (standings[i].turn) leave_queue(call, ns_id, name, request.owner, request.request);
  }
  reply.left = request.ttl;
  reply.ahead = 0;
  return reply;
}

}  // namespace fenceline::sqlite
