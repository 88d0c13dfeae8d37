#include "backends/sqlite/limit_keys.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/ready_lanes.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindLimitKey = "SELECT id FROM limit_key WHERE home_id = ?1 AND name = ?2";
constexpr const char* kAddLimitKey = "INSERT INTO limit_key (home_id, name) VALUES (?1, ?2)";
constexpr const char* kOfHome = "SELECT id FROM limit_key WHERE home_id = ?1 ORDER BY id";

// A revoked delivery counts until the claim that finds its lease at its end; that claim chooses anew.
constexpr const char* kTakenOfKey = R"sql(
  SELECT (SELECT count(*) FROM run WHERE limit_id = ?1) + (SELECT count(*) FROM slot WHERE limit_id = ?1))sql";
constexpr const char* kTakenOfKeyNow = R"sql(
  SELECT (SELECT count(*) FROM run WHERE limit_id = ?1) + (SELECT count(*) FROM slot WHERE limit_id = ?1
    AND lease_end > ?2))sql";

constexpr const char* kAllOf = R"sql(
  SELECT rank, run_at, seq FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3
  ORDER BY rank, run_at, seq)sql";
constexpr const char* kNextRankOf = R"sql(
  SELECT rank FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3 AND rank > ?4
    ORDER BY rank LIMIT 1)sql";
constexpr const char* kBestDueOf = R"sql(
  SELECT run_at, seq FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3
    AND rank = ?4
    AND run_at <= ?5 ORDER BY run_at, seq LIMIT 1)sql";
constexpr const char* kEarlyOf = R"sql(
  SELECT run_at, seq FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3
    AND rank = ?4
    AND run_at > ?5 ORDER BY run_at, seq)sql";
constexpr const char* kWorstOf = R"sql(
  SELECT rank, run_at, seq FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3
  ORDER BY rank DESC, run_at DESC, seq DESC LIMIT 1)sql";
constexpr const char* kCountOf =
    "SELECT count(*) FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3";

constexpr const char* kCameDue = R"sql(
  SELECT run_at, seq, limit_id FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4
    ORDER BY run_at, seq LIMIT ?5)sql";
constexpr const char* kNoLongerDue = R"sql(
  SELECT run_at, seq, limit_id FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at > ?4)sql";
constexpr const char* kLookedAt = "SELECT looked_at FROM queue WHERE id = ?1";
constexpr const char* kLook = "UPDATE queue SET looked_at = ?2 WHERE id = ?1";

// In one claim; the rest comes in with the next.
constexpr std::int64_t kCameDueMost = 10'000;

bool sooner(const Standing& a, const Standing& b) {
  return std::tie(a.rank, a.run_at, a.seq) < std::tie(b.rank, b.run_at, b.seq);
}

std::vector<Standing> all_of_key(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t lane) {
  std::vector<Standing> all;
  auto rows = call.db.query(kAllOf, limit_id, queue_id, lane);
  while (rows.next())
    all.push_back({queue_id, lane, rows.integer(0), rows.integer(1), rows.integer(2), limit_id, false});
  return all;
}

// The last one of the key in the lane.
std::optional<Standing> worst_of(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t lane) {
  auto row = call.db.query(kWorstOf, limit_id, queue_id, lane);
  if (!row.next()) return std::nullopt;
  return Standing{queue_id, lane, row.integer(0), row.integer(1), row.integer(2), limit_id, false};
}

// The best due one of the key in the lane: one seek for each priority in which none is due.
std::optional<Standing> best_due(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t lane) {
  std::int64_t after = std::numeric_limits<std::int64_t>::min();
  while (const auto rank = call.db.number(kNextRankOf, limit_id, queue_id, lane, after)) {
    auto row = call.db.query(kBestDueOf, limit_id, queue_id, lane, *rank, call.wall_us());
    if (row.next()) return Standing{queue_id, lane, *rank, row.integer(0), row.integer(1), limit_id, false};
    after = *rank;
  }
  return std::nullopt;
}

// Those of the key that were let out and are not due: the wall clock was set back.
void take_back_early(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t beside) {
  std::vector<Standing> early;
  std::int64_t after = std::numeric_limits<std::int64_t>::min();
  while (const auto rank = call.db.number(kNextRankOf, limit_id, queue_id, kCommonLane + beside, after)) {
    auto rows = call.db.query(kEarlyOf, limit_id, queue_id, kCommonLane + beside, *rank, call.wall_us());
    while (rows.next())
      early.push_back({queue_id, kCommonLane + beside, *rank, rows.integer(0), rows.integer(1), limit_id, false});
    after = *rank;
  }
  for (const Standing& standing : early) move_to_lane(call, standing, kEarlyLane + beside);
}

// Few come or go at a time, so only the ends of the two lanes are looked at: who is let out and stays so costs no more
// than being counted.
void choose_in_lane(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t beside, std::int64_t free) {
  const std::int64_t open = kCommonLane + beside;
  const std::int64_t full = kFullLane + beside;
  take_back_early(call, limit_id, queue_id, beside);
  std::int64_t let_out = call.db.number(kCountOf, limit_id, queue_id, open).value_or(0);
  for (; let_out > free; --let_out) move_to_lane(call, *worst_of(call, limit_id, queue_id, open), full);
  while (const auto best = best_due(call, limit_id, queue_id, full)) {
    if (let_out == free) {
      const auto worst = worst_of(call, limit_id, queue_id, open);
      if (!worst || !sooner(*best, *worst)) break;
      move_to_lane(call, *worst, full);
    } else {
      let_out += 1;
    }
    move_to_lane(call, *best, open);
    call.awakened.insert(queue_id);
  }
}

std::int64_t free_slots_of(Call& call, std::int64_t limit_id, int most) {
  return std::max<std::int64_t>(0, most - call.db.number(kTakenOfKey, limit_id).value_or(0));
}

std::vector<std::int64_t> keys_of(Call& call, std::int64_t home_id) {
  std::vector<std::int64_t> keys;
  auto rows = call.db.query(kOfHome, home_id);
  while (rows.next()) keys.push_back(rows.integer(0));
  return keys;
}

// Moves what `sql` finds in the lane, priority by priority, to another lane; remembers whose they are.
template <class Find>
void move_found(Call& call, std::int64_t queue_id, std::int64_t from, std::int64_t to, std::set<std::int64_t>& keys,
                Find find) {
  std::vector<Standing> found;
  each_rank(call, queue_id, from, [&](std::int64_t rank) {
    auto rows = find(rank);
    while (rows.next())
      found.push_back({queue_id, from, rank, rows.integer(0), rows.integer(1), rows.integer(2), false});
    return true;
  });
  for (const Standing& standing : found) {
    move_to_lane(call, standing, to);
    keys.insert(*standing.limit_id);
  }
}

void choose_in_queue(Call& call, std::int64_t limit_id, std::int64_t queue_id, int most) {
  const std::int64_t free = free_slots_of(call, limit_id, most);
  for (const std::int64_t beside : {0, 1}) choose_in_lane(call, limit_id, queue_id, beside, free);
}

// Lanes say who is due as of `looked_at`, so whoever looks at them says when, and no look may be behind the last one:
// if the wall clock was set back, what is not due any more goes back first. Otherwise it would stand among the due
// ones, and nobody would let it in when its time comes again.
void look_at(Call& call, std::int64_t queue_id, int most) {
  const std::int64_t looked_at = call.db.number(kLookedAt, queue_id).value_or(0);
  if (looked_at == call.wall_us()) return;
  call.db.execute(kLook, queue_id, call.wall_us());
  if (looked_at < call.wall_us()) return;
  std::set<std::int64_t> keys;
  for (const std::int64_t beside : {0, 1}) {
    move_found(call, queue_id, kFullLane + beside, kEarlyLane + beside, keys, [&, beside](std::int64_t rank) {
      return call.db.query(kNoLongerDue, queue_id, kFullLane + beside, rank, call.wall_us());
    });
  }
  for (const std::int64_t limit_id : keys_of(call, call.names.home_of(queue_id)))
    choose_in_queue(call, limit_id, queue_id, most);
}

}  // namespace

std::int64_t intern_limit_key(Call& call, std::int64_t home_id, const std::string& name) {
  if (const auto known = call.db.number(kFindLimitKey, home_id, name)) return *known;
  call.db.execute(kAddLimitKey, home_id, name);
  return call.db.last_insert_rowid();
}

std::int64_t key_slots_taken(Call& call, std::int64_t limit_id) {
  return call.db.number(kTakenOfKeyNow, limit_id, call.now_us()).value_or(0);
}

void choose_of_key(Call& call, std::int64_t home_id, std::int64_t limit_id) {
  const int most = per_key_most(call, home_id);
  if (most == 0) return;
  if (call.choose_later) {
    call.choose_later->emplace(home_id, limit_id);
    return;
  }
  for (const std::int64_t queue_id : stages_of(call, home_id)) {
    look_at(call, queue_id, most);
    choose_in_queue(call, limit_id, queue_id, most);
  }
}

void ChoosingOnce::choose() {
  const auto keys = std::exchange(call_.choose_later, std::nullopt);
  for (const auto& [home_id, limit_id] : *keys) choose_of_key(call_, home_id, limit_id);
}

void let_due_in(Call& call, std::int64_t queue_id) {
  const int most = per_key_most(call, call.names.home_of(queue_id));
  if (most == 0) return;
  if (call.db.number(kLookedAt, queue_id).value_or(0) > call.wall_us()) look_at(call, queue_id, most);
  std::set<std::int64_t> keys;
  for (const std::int64_t beside : {0, 1}) {
    move_found(call, queue_id, kEarlyLane + beside, kFullLane + beside, keys, [&, beside](std::int64_t rank) {
      return call.db.query(kCameDue, queue_id, kEarlyLane + beside, rank, call.wall_us(), kCameDueMost);
    });
  }
  // Who found nothing writes nothing: all that stands among the due ones was due at the look before.
  if (!keys.empty()) look_at(call, queue_id, most);
  for (const std::int64_t limit_id : keys) choose_in_queue(call, limit_id, queue_id, most);
}

void change_per_key_most(Call& call, std::int64_t home_id, int before, int after) {
  for (const std::int64_t limit_id : keys_of(call, home_id)) {
    for (const std::int64_t queue_id : stages_of(call, home_id)) {
      for (const std::int64_t beside : {0, 1}) {
        if (before == 0) {
          for (const Standing& standing : all_of_key(call, limit_id, queue_id, kCommonLane + beside))
            move_to_lane(call, standing, (standing.run_at <= call.wall_us() ? kFullLane : kEarlyLane) + beside);
        }
        if (after > 0) continue;
        for (const std::int64_t lane : {kFullLane, kEarlyLane}) {
          for (const Standing& standing : all_of_key(call, limit_id, queue_id, lane + beside))
            move_to_lane(call, standing, kCommonLane + beside);
        }
      }
    }
    choose_of_key(call, home_id, limit_id);
  }
}

}  // namespace fenceline::sqlite
