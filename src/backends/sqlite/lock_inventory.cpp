// The inventory of locks, and what of them is forgotten.
#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/lock_rows.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kResources =
    "SELECT resource FROM fenceline_lock WHERE ns_id = ?1 AND resource > ?2 AND resource >= ?3 ORDER BY resource";
constexpr const char* kHolders = R"sql(
  SELECT owner, place, granted_at, lease_end FROM fenceline_lock_holder WHERE ns_id = ?1 AND resource = ?2
    AND released = 0
  ORDER BY granted_at, owner LIMIT ?3)sql";
constexpr const char* kHoldersCount =
    "SELECT count(*) FROM fenceline_lock_holder INDEXED BY fenceline_lock_last WHERE ns_id = ?1 AND resource = ?2 AND "
    "released = 0";
constexpr const char* kWaitersShown = R"sql(
  SELECT owner, place, since, mode FROM fenceline_lock_waiter WHERE ns_id = ?1 AND name = ?2 AND heard > ?3
    ORDER BY turn LIMIT ?4)sql";
constexpr const char* kWaitersCount =
    "SELECT count(*) FROM fenceline_lock_waiter WHERE ns_id = ?1 AND name = ?2 AND heard > ?3";
constexpr const char* kSeenAtGates = "SELECT 1 FROM sqlite_schema WHERE name = 'fenceline_fence'";
constexpr const char* kSeenAtGate = "SELECT fence FROM fenceline_fence WHERE ns = ?1 AND resource = ?2";

constexpr const char* kTellGate = "UPDATE fenceline_fence SET fence = max(fence, ?3) WHERE ns = ?1 AND resource = ?2";
constexpr const char* kMakeGateRemember = R"sql(
  INSERT INTO fenceline_fence (ns, resource, fence) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
    SET fence = max(fence, excluded.fence))sql";
constexpr const char* kMakeGatesRemember = R"sql(
  INSERT INTO fenceline_fence (ns, resource, fence) SELECT ?1, resource, fence FROM fenceline_lock WHERE ns_id = ?2
    AND unclean = 1
  ON CONFLICT DO UPDATE SET fence = max(fence, excluded.fence))sql";
constexpr const char* kTellGates = R"sql(
  UPDATE fenceline_fence SET fence = max(fence,
    (SELECT l.fence FROM fenceline_lock l WHERE l.ns_id = ?2 AND l.resource = fenceline_fence.resource))
  WHERE ns = ?1 AND resource IN (SELECT resource FROM fenceline_lock WHERE ns_id = ?2))sql";

// A shared lock that nobody has any more may be among them: it does no harm.
constexpr const char* kInUse = R"sql(
  SELECT name FROM fenceline_lock_waiter WHERE ns_id = ?1
  UNION SELECT resource FROM fenceline_lock WHERE ns_id = ?1
    AND (mode <> 0 OR max(coalesce(bar, ?2), CASE WHEN freed IS NULL THEN lease_end + delay ELSE ?2 END) > ?2))sql";

constexpr const char* kForgetSilent = "DELETE FROM fenceline_lock_waiter WHERE ns_id = ?1 AND heard <= ?2";
constexpr const char* kForgetAllWithdrawn = "DELETE FROM fenceline_lock_withdrawn WHERE until <= ?1";
constexpr const char* kToLookAt = R"sql(
  SELECT resource, look_at FROM fenceline_lock INDEXED BY fenceline_lock_look WHERE ns_id = ?1 AND look_at <= ?2
    ORDER BY look_at LIMIT ?3)sql";
constexpr const char* kLookAgain = "UPDATE fenceline_lock SET look_at = ?3 WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kForget = "DELETE FROM fenceline_lock WHERE ns_id = ?1 AND resource = ?2";

constexpr std::int64_t kShown = static_cast<std::int64_t>(kLockPeopleShown);

// The memory of gates is made when one first needs it.
bool gates_remember(Call& call) { return call.db.number(kSeenAtGates).has_value(); }

class Inventory {
 public:
  Inventory(Call& call, const std::string& ns, std::int64_t ns_id)
      : call_(call), ns_(ns), ns_id_(ns_id), gates_(gates_remember(call)) {}

  LockRow show(const LockRecord& lock) {
    LockRow row{.resource = lock.resource, .fence = lock.fence, .mode = lock.mode, .pattern = lock.pattern};
    if (lock.mode == LockMode::shared) add_holders(row);
    else if (lock.lease && !lock.lease->released)
      row.holders.push_back(shown(lock.lease->owner, lock.lease->place, lock.lease->granted_at, lock.lease->lease_end));
    row.holders_count = std::max(row.holders_count, static_cast<std::int64_t>(row.holders.size()));
    if (const std::int64_t from = lock.free_from(); from > call_.now_us())
      row.free_in = Duration{from - call_.now_us()};
    add_waiters(row);
    if (gates_) row.seen_at_gate = call_.db.number(kSeenAtGate, ns_, lock.resource);
    return row;
  }

 private:
  LockHolder shown(std::string owner, std::string place, std::int64_t granted_at, std::int64_t lease_end) const {
    return {std::move(owner), std::move(place), wall_time(granted_at), Duration{lease_end - call_.now_us()}};
  }

  void add_holders(LockRow& row) {
    row.holders_count = call_.db.number(kHoldersCount, ns_id_, row.resource).value_or(0);
    auto rows = call_.db.query(kHolders, ns_id_, row.resource, kShown);
    while (rows.next()) row.holders.push_back(shown(rows.text(0), rows.text(1), rows.integer(2), rows.integer(3)));
  }

  void add_waiters(LockRow& row) {
    const std::int64_t unheard_since = call_.now_us() - Duration{kLockWaiterKeptFor}.count();
    {
      auto rows = call_.db.query(kWaitersShown, ns_id_, row.resource, unheard_since, kShown);
      while (rows.next())
        row.waiters.push_back(
            {rows.text(0), rows.text(1), wall_time(rows.integer(2)), static_cast<LockMode>(rows.integer(3))});
    }
    row.waiters_count = static_cast<std::int64_t>(row.waiters.size());
    if (row.waiters_count == kShown)
      row.waiters_count = call_.db.number(kWaitersCount, ns_id_, row.resource, unheard_since).value_or(0);
  }

  Call& call_;
  const std::string& ns_;
  std::int64_t ns_id_;
  bool gates_;
};

// A lock that may go, by the moment since when it is free.
struct FreeLock {
  std::int64_t free_from;
  std::string resource;
  Fence fence;
  LockMode mode;
  bool unclean;

  bool operator<(const FreeLock& other) const {
    return std::tie(free_from, resource) < std::tie(other.free_from, other.resource);
  }
};

}  // namespace

Result<LocksReply> list_locks(Call& call, const LocksRequest& request) {
  LocksReply reply;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  Inventory inventory(call, request.ns, *ns_id);
  auto rows = call.db.query(kResources, *ns_id, request.after, request.prefix);
  while (rows.next()) {
    const std::string resource = rows.text(0);
    if (!resource.starts_with(request.prefix)) break;
    const std::optional<LockRecord> lock = find_lock(call, *ns_id, resource);
    if (!lock || (request.held && lock->free_from() <= call.now_us())) continue;
    if (reply.locks.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = reply.locks.back().resource;
      break;
    }
    reply.locks.push_back(inventory.show(*lock));
  }
  return reply;
}

Result<std::optional<LockRow>> show_lock(Call& call, const std::string& ns, const std::string& resource) {
  const auto ns_id = call.names.find_namespace(ns);
  const std::optional<LockRecord> lock = ns_id ? find_lock(call, *ns_id, resource) : std::nullopt;
  if (!lock) return std::optional<LockRow>();
  return std::optional(Inventory(call, ns, *ns_id).show(*lock));
}

// look_at is never later than the moment at which the lock may go: whatever happens to one makes it free at that moment
// or later. So a look in its order, that goes on until no lock that was not looked at can be among the first, finds the
// longest free ones. Those that are in use are put off until they could go at the earliest.
TidyReply tidy_locks(Call& call, const std::string& ns, std::int64_t ns_id, int limit) {
  const std::int64_t now = call.now_us();
  const std::int64_t kept = Duration{kFreeLockKeptFor}.count();
  const auto most = static_cast<std::size_t>(limit);
  call.db.execute(kForgetSilent, ns_id, now - Duration{kLockWaiterKeptFor}.count());
  call.db.execute(kForgetAllWithdrawn, now);
  TidyReply reply;
  std::vector<FreeLock> over;
  std::priority_queue<std::int64_t> first;  // since when the first of them, and one more, are free: the last on top
  std::vector<std::pair<std::string, std::int64_t>> put_off;
  std::size_t looks = 0;
  const std::size_t looks_most = (most + 1) * kLooksForEach;
  {
    auto rows = call.db.query(kToLookAt, ns_id, now, static_cast<std::int64_t>(looks_most));
    while (rows.next()) {
      if (first.size() > most && first.top() + kept < rows.integer(1)) break;
      looks += 1;
      const std::optional<LockRecord> lock = find_lock(call, ns_id, rows.text(0));
      const std::int64_t from = lock->free_from();
      if (from + kept > now) {
        put_off.emplace_back(lock->resource, (from <= now ? from : now) + kept);
        continue;
      }
      if (!live_waiters(call, ns_id, lock->resource.substr(0, lock->resource.find('#'))).empty()) continue;
      over.push_back({from, lock->resource, lock->fence, lock->mode, lock->unclean});
      first.push(from);
      if (first.size() > most + 1) first.pop();
    }
  }
  for (const auto& [resource, until] : put_off) call.db.execute(kLookAgain, ns_id, resource, until);
  std::sort(over.begin(), over.end());
  reply.more = over.size() > most || looks == looks_most;
  if (over.size() > most) over.resize(most);
  Fence floor = 0;
  const bool gates = !over.empty() && gates_remember(call);
  for (const FreeLock& lock : over) {
    if (gates) call.db.execute(lock.unclean ? kMakeGateRemember : kTellGate, ns, lock.resource, lock.fence);
    floor = std::max(floor, lock.fence);
    call.db.execute(kForget, ns_id, lock.resource);
    if (lock.mode == LockMode::shared) forget_holders(call, ns_id, lock.resource);
  }
  if (floor > 0) raise_floor_to(call, floor);
  reply.removed = static_cast<std::int64_t>(over.size());
  return reply;
}

void wake_all_locks(Call& call, const std::string& ns, std::int64_t ns_id) {
  auto rows = call.db.query(kInUse, ns_id, call.now_us());
  while (rows.next()) call.freed.insert(lock_name(ns, rows.text(0)));
}

void tell_gates(Call& call, const std::string& ns, std::int64_t ns_id) {
  if (!gates_remember(call)) return;
  call.db.execute(kTellGates, ns, ns_id);
  call.db.execute(kMakeGatesRemember, ns, ns_id);
}

}  // namespace fenceline::sqlite
