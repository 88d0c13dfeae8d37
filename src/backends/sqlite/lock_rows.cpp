#include "backends/sqlite/lock_rows.hpp"

#include <algorithm>
#include <charconv>

namespace fenceline::sqlite {
namespace {

#define FENCELINE_LOCK_COLUMNS                                                                                    \
  "resource, fence, mode, to_its_end, owner, request, granted_at, lease_end, freed, delay, bar, place, pattern, " \
  "previous, broken, ended, minted, unclean"
constexpr const char* kFindLock =
    "SELECT " FENCELINE_LOCK_COLUMNS " FROM fenceline_lock WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kFindSlots =
    "SELECT " FENCELINE_LOCK_COLUMNS " FROM fenceline_lock WHERE ns_id = ?1 AND resource > ?2 AND resource < ?3";
#undef FENCELINE_LOCK_COLUMNS

constexpr const char* kLastHolder = R"sql(
  SELECT owner, request, granted_at, lease_end, released, place, previous
    FROM fenceline_lock_holder INDEXED BY fenceline_lock_last
  WHERE ns_id = ?1 AND resource = ?2 AND released = 0 ORDER BY lease_end DESC, owner LIMIT 1)sql";
constexpr const char* kFindLockHolder = R"sql(
  SELECT owner, request, granted_at, lease_end, released, place, previous FROM fenceline_lock_holder WHERE ns_id = ?1
    AND resource = ?2 AND owner = ?3)sql";

// What is looked at by tidy() stays where it is: see look_at in the schema.
constexpr const char* kGrant = R"sql(
  INSERT INTO fenceline_lock (ns_id, resource, fence, mode, to_its_end, owner, request, granted_at, lease_end, delay,
    bar, bar_wall, place, pattern, previous, look_at, unclean)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, nullif(?11, 0), nullif(?12, 0), ?13, ?14, ?15, ?16, ?17)
  ON CONFLICT DO UPDATE SET fence = excluded.fence, mode = excluded.mode, to_its_end = excluded.to_its_end,
    owner = excluded.owner, request = excluded.request,
    granted_at = excluded.granted_at, lease_end = excluded.lease_end, freed = NULL, delay = excluded.delay,
    bar = excluded.bar, bar_wall = excluded.bar_wall, place = excluded.place, pattern = excluded.pattern,
    previous = excluded.previous, unclean = max(unclean, excluded.unclean))sql";
constexpr const char* kForgetHolders = "DELETE FROM fenceline_lock_holder WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kJoinPhase = R"sql(
  INSERT OR REPLACE INTO fenceline_lock_holder (ns_id, resource, owner, request, granted_at, lease_end,
    known_until, released, place, previous)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9))sql";
// Whether one of those to be forgotten did not release; null: there is none.
constexpr const char* kOverHolders =
    "SELECT max(released = 0) FROM fenceline_lock_holder INDEXED BY fenceline_lock_known WHERE ns_id = ?1 AND resource "
    "= ?2 AND known_until <= ?3";
constexpr const char* kForgetOverHolders =
    "DELETE FROM fenceline_lock_holder INDEXED BY fenceline_lock_known WHERE ns_id = ?1 AND resource = ?2 AND "
    "known_until <= ?3";
constexpr const char* kUnclean = "UPDATE fenceline_lock SET unclean = 1 WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kPattern = "UPDATE fenceline_lock SET pattern = ?3 WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kRenewLock = "UPDATE fenceline_lock SET lease_end = ?3 WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kRenewHolder =
    "UPDATE fenceline_lock_holder SET lease_end = ?4, known_until = ?5 WHERE ns_id = ?1 AND resource = ?2 AND owner = "
    "?3";
constexpr const char* kFreeLock = "UPDATE fenceline_lock SET freed = ?3 WHERE ns_id = ?1 AND resource = ?2";
constexpr const char* kFreeHolder =
    "UPDATE fenceline_lock_holder SET released = 1 WHERE ns_id = ?1 AND resource = ?2 AND owner = ?3";
constexpr const char* kBreak = R"sql(
  UPDATE fenceline_lock SET fence = ?3, freed = ?4, delay = 0, bar = NULL, bar_wall = NULL, broken = ?5, ended = fence,
    minted = ?3, unclean = 1 WHERE ns_id = ?1 AND resource = ?2)sql";
constexpr const char* kFreeHolders =
    "UPDATE fenceline_lock_holder SET released = 1 WHERE ns_id = ?1 AND resource = ?2 AND released = 0";

constexpr const char* kLiveWaiters =
    "SELECT turn, owner, request, mode, heard FROM fenceline_lock_waiter WHERE ns_id = ?1 AND name = ?2 AND heard > ?3 "
    "ORDER BY turn";
constexpr const char* kForgetWaiters =
    "DELETE FROM fenceline_lock_waiter WHERE ns_id = ?1 AND name = ?2 AND heard <= ?3";
constexpr const char* kTakePlace = R"sql(
  INSERT INTO fenceline_lock_waiter (ns_id, name, turn, owner, request, mode, heard, since, place)
  SELECT ?1, ?2, 1 + coalesce((SELECT max(turn) FROM fenceline_lock_waiter WHERE ns_id = ?1 AND name = ?2), 0), ?3, ?4,
    ?5, ?6, ?7, ?8)sql";
constexpr const char* kKeepPlace =
    "UPDATE fenceline_lock_waiter SET heard = ?4 WHERE ns_id = ?1 AND name = ?2 AND turn = ?3";
constexpr const char* kGoToTheEnd = R"sql(
  UPDATE fenceline_lock_waiter SET turn = 1 + (SELECT max(turn) FROM fenceline_lock_waiter WHERE ns_id = ?1
    AND name = ?2) WHERE ns_id = ?1 AND name = ?2 AND turn = ?3)sql";
constexpr const char* kLeaveQueue =
    "DELETE FROM fenceline_lock_waiter WHERE ns_id = ?1 AND name = ?2 AND owner = ?3 AND request = ?4";

LockRecord read_lock(const Rows& row) {
  LockRecord lock;
  lock.resource = row.text(0);
  lock.fence = row.integer(1);
  lock.mode = static_cast<LockMode>(row.integer(2));
  lock.to_its_end = row.integer(3) != 0;
  lock.freed = row.maybe_integer(8).value_or(kSinceEver);
  lock.delay = row.integer(9);
  lock.bar = row.maybe_integer(10).value_or(kSinceEver);
  lock.pattern = row.text(12);
  if (!row.is_null(14)) {
    lock.break_request = row.text(14);
    lock.broken = {row.integer(15), row.integer(16)};
  }
  lock.unclean = row.integer(17) != 0;
  if (lock.mode == LockMode::exclusive)
    lock.lease = LockLease{row.text(4),    row.text(5),    row.text(11),   row.text(13),
                           row.integer(6), row.integer(7), !row.is_null(8)};
  return lock;
}

std::optional<LockLease> read_holder(Rows& row) {
  if (!row.next()) return std::nullopt;
  return LockLease{row.text(0),    row.text(1),    row.text(5),        row.text(6),
                   row.integer(2), row.integer(3), row.integer(4) != 0};
}

void add_last_holder(Call& call, std::int64_t ns_id, LockRecord& lock) {
  if (lock.mode == LockMode::exclusive) return;
  auto row = call.db.query(kLastHolder, ns_id, lock.resource);
  lock.lease = read_holder(row);
}

// Of a resource with '#'; 0: its number is larger than any.
int slot_number(std::string_view resource) {
  const std::string_view digits = resource.substr(resource.find('#') + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : 0;
}

std::int64_t unheard_since(const Call& call) { return call.now_us() - Duration{kLockWaiterKeptFor}.count(); }

}  // namespace

std::int64_t LockRecord::free_from() const {
  const std::int64_t from = std::max(bar, freed);
  return lease && !lease->released ? std::max(from, lease->lease_end + delay) : from;
}

std::optional<LockRecord> find_lock(Call& call, std::int64_t ns_id, const std::string& resource) {
  std::optional<LockRecord> lock;
  {
    auto row = call.db.query(kFindLock, ns_id, resource);
    if (row.next()) lock = read_lock(row);
  }
  if (lock) add_last_holder(call, ns_id, *lock);
  return lock;
}

std::vector<std::optional<LockRecord>> find_slots(Call& call, std::int64_t ns_id, const std::string& name, int slots) {
  std::vector<std::optional<LockRecord>> found(static_cast<std::size_t>(slots));
  found.front() = find_lock(call, ns_id, name);
  if (slots == 1) return found;
  auto rows = call.db.query(kFindSlots, ns_id, name + "#", name + "$");  // '$' follows '#'
  while (rows.next()) {
    LockRecord lock = read_lock(rows);
    const int number = slot_number(lock.resource);
    if (number >= 2 && number <= slots) found[static_cast<std::size_t>(number - 1)] = std::move(lock);
  }
  return found;
}

std::optional<LockLease> lease_of(Call& call, std::int64_t ns_id, const LockRecord& lock, const std::string& owner) {
  if (lock.mode == LockMode::exclusive) return lock.lease && lock.lease->owner == owner ? lock.lease : std::nullopt;
  auto row = call.db.query(kFindLockHolder, ns_id, lock.resource, owner);
  return read_holder(row);
}

void forget_holders(Call& call, std::int64_t ns_id, const std::string& resource) {
  call.db.execute(kForgetHolders, ns_id, resource);
}

void begin_phase(Call& call, std::int64_t ns_id, const AcquireRequest& request, const LockGrant& grant,
                 const std::optional<LockRecord>& before) {
  if (before && before->mode == LockMode::shared) forget_holders(call, ns_id, grant.resource);
  const bool shared = request.mode == LockMode::shared;
  const Duration barred = request.to_its_end ? request.ttl : request.hold_at_least;
  const bool has_bar = barred > Duration{0};
  const std::int64_t lease_end = call.now_us() + request.ttl.count();
  const std::int64_t bar = has_bar ? call.now_us() + barred.count() : 0;
  const std::int64_t bar_wall = has_bar ? call.wall_us() + barred.count() : 0;
  const std::string nobody;
  call.db.execute(kGrant, ns_id, grant.resource, grant.fence, static_cast<int>(request.mode),
                  request.to_its_end ? 1 : 0, shared ? nobody : request.owner, shared ? nobody : request.request,
                  call.wall_us(), lease_end, request.delay.count(), bar, bar_wall, shared ? nobody : request.place,
                  request.pattern, grant.previous_owner, call.now_us() + Duration{kFreeLockKeptFor}.count(),
                  grant.previous_owner.empty() ? 0 : 1);
  if (!shared) return;
  call.db.execute(kJoinPhase, ns_id, grant.resource, request.owner, request.request, call.wall_us(), lease_end,
                  lease_end + request.ttl.count(), request.place, grant.previous_owner);
}

void join_phase(Call& call, std::int64_t ns_id, const AcquireRequest& request, const LockRecord& lock) {
  if (const auto unreleased = call.db.number(kOverHolders, ns_id, lock.resource, call.now_us())) {
    if (*unreleased != 0) call.db.execute(kUnclean, ns_id, lock.resource);
    call.db.execute(kForgetOverHolders, ns_id, lock.resource, call.now_us());
  }
  const std::int64_t lease_end = call.now_us() + request.ttl.count();
  call.db.execute(kJoinPhase, ns_id, lock.resource, request.owner, request.request, call.wall_us(), lease_end,
                  lease_end + request.ttl.count(), request.place, std::string());
  if (lock.pattern != request.pattern) call.db.execute(kPattern, ns_id, lock.resource, request.pattern);
}

void renew_lease(Call& call, std::int64_t ns_id, const LockRecord& lock, const std::string& owner, Duration ttl) {
  const std::int64_t lease_end = call.now_us() + ttl.count();
  if (lock.mode == LockMode::exclusive) call.db.execute(kRenewLock, ns_id, lock.resource, lease_end);
  else call.db.execute(kRenewHolder, ns_id, lock.resource, owner, lease_end, lease_end + ttl.count());
}

void release_lease(Call& call, std::int64_t ns_id, const LockRecord& lock, const std::string& owner) {
  if (lock.mode == LockMode::shared) call.db.execute(kFreeHolder, ns_id, lock.resource, owner);
  call.db.execute(kFreeLock, ns_id, lock.resource, call.now_us());
}

void end_phase(Call& call, std::int64_t ns_id, const LockRecord& lock, Fence fence, const std::string& break_request) {
  if (lock.mode == LockMode::shared) call.db.execute(kFreeHolders, ns_id, lock.resource);
  call.db.execute(kBreak, ns_id, lock.resource, fence, call.now_us(), break_request);
}

std::vector<LockPlace> live_waiters(Call& call, std::int64_t ns_id, const std::string& name) {
  std::vector<LockPlace> places;
  auto rows = call.db.query(kLiveWaiters, ns_id, name, unheard_since(call));
  while (rows.next())
    places.push_back(
        {rows.integer(0), rows.text(1), rows.text(2), static_cast<LockMode>(rows.integer(3)), rows.integer(4)});
  return places;
}

void take_place(Call& call, std::int64_t ns_id, const std::string& name, const AcquireRequest& request) {
  call.db.execute(kForgetWaiters, ns_id, name, unheard_since(call));
  call.db.execute(kTakePlace, ns_id, name, request.owner, request.request, static_cast<int>(request.mode),
                  call.now_us(), call.wall_us(), request.place);
}

void keep_place(Call& call, std::int64_t ns_id, const std::string& name, std::int64_t turn) {
  call.db.execute(kKeepPlace, ns_id, name, turn, call.now_us());
}

void go_to_the_end(Call& call, std::int64_t ns_id, const std::string& name, std::int64_t turn) {
  call.db.execute(kGoToTheEnd, ns_id, name, turn);
}

bool leave_queue(Call& call, std::int64_t ns_id, const std::string& name, const std::string& owner,
                 const std::string& request) {
  call.db.execute(kLeaveQueue, ns_id, name, owner, request);
  return call.db.changes() > 0;
}

}  // namespace fenceline::sqlite
