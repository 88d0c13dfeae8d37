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

constexpr const char* kFind = "SELECT id FROM limit_key WHERE home_id = ?1 AND name = ?2";
constexpr const char* kAdd = "INSERT INTO limit_key (home_id, name) VALUES (?1, ?2)";
constexpr const char* kOfHome = "SELECT id FROM limit_key WHERE home_id = ?1 ORDER BY id";

// A revoked delivery counts until the claim that finds its lease at its end; that claim chooses anew.
constexpr const char* kTaken = R"sql(
  SELECT (SELECT count(*) FROM run WHERE limit_id = ?1) + (SELECT count(*) FROM slot WHERE limit_id = ?1))sql";
constexpr const char* kTakenNow = R"sql(
  SELECT (SELECT count(*) FROM run WHERE limit_id = ?1) + (SELECT count(*) FROM slot WHERE limit_id = ?1 AND lease_end > ?2))sql";

constexpr const char* kAllOf = R"sql(
  SELECT rank, run_at, seq FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3
  ORDER BY rank, run_at, seq)sql";
constexpr const char* kNextRankOf = R"sql(
  SELECT rank FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3 AND rank > ?4 ORDER BY rank LIMIT 1)sql";
constexpr const char* kDueOf = R"sql(
  SELECT rank, run_at, seq FROM ready INDEXED BY ready_limited WHERE limit_id = ?1 AND queue_id = ?2 AND lane = ?3 AND rank = ?4
    AND run_at <= ?5 ORDER BY run_at, seq LIMIT ?6)sql";

constexpr const char* kCameDue = R"sql(
  SELECT run_at, seq, limit_id FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4 ORDER BY run_at, seq LIMIT ?5)sql";
constexpr const char* kNoLongerDue = R"sql(
  SELECT run_at, seq, limit_id FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at > ?4)sql";
constexpr const char* kLookedAt = "SELECT looked_at FROM queue WHERE id = ?1";
constexpr const char* kLook = "UPDATE queue SET looked_at = ?2 WHERE id = ?1";

// In one claim; the rest comes in with the next.
constexpr std::int64_t kCameDueMost = 10'000;

bool sooner(const Standing& a, const Standing& b) { return std::tie(a.rank, a.run_at, a.seq) < std::tie(b.rank, b.run_at, b.seq); }

std::vector<Standing> all_of_key(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t lane) {
  std::vector<Standing> all;
  auto rows = call.db.query(kAllOf, limit_id, queue_id, lane);
  while (rows.next()) all.push_back({queue_id, lane, rows.integer(0), rows.integer(1), rows.integer(2), limit_id, false});
  return all;
}

// The best due ones of the key in the lane, at most `most`.
std::vector<Standing> best_due(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t lane, std::int64_t most) {
  std::vector<Standing> best;
  std::int64_t after = std::numeric_limits<std::int64_t>::min();
  while (static_cast<std::int64_t>(best.size()) < most) {
    const auto rank = call.db.number(kNextRankOf, limit_id, queue_id, lane, after);
    if (!rank) break;
    after = *rank;
    auto rows = call.db.query(kDueOf, limit_id, queue_id, lane, *rank, call.wall_us(), most - static_cast<std::int64_t>(best.size()));
    while (rows.next()) best.push_back({queue_id, lane, rows.integer(0), rows.integer(1), rows.integer(2), limit_id, false});
  }
  return best;
}

void choose_in_lane(Call& call, std::int64_t limit_id, std::int64_t queue_id, std::int64_t beside, std::int64_t free) {
  const std::vector<Standing> let_out = all_of_key(call, limit_id, queue_id, kCommonLane + beside);
  const auto is_due = [&](const Standing& standing) { return standing.run_at <= call.wall_us(); };
  std::vector<Standing> due;
  for (const Standing& standing : let_out) {
    if (is_due(standing)) due.push_back(standing);
    else move_to_lane(call, standing, kEarlyLane + beside);
  }
  const std::vector<Standing> waiting = best_due(call, limit_id, queue_id, kFullLane + beside, free);
  due.insert(due.end(), waiting.begin(), waiting.end());
  std::sort(due.begin(), due.end(), sooner);
  for (std::size_t i = 0; i < due.size(); ++i) {
    const bool chosen = static_cast<std::int64_t>(i) < free;
    if (chosen && due[i].lane != kCommonLane + beside) call.awakened.insert(queue_id);
    move_to_lane(call, due[i], (chosen ? kCommonLane : kFullLane) + beside);
  }
}

std::int64_t free_slots_of(Call& call, std::int64_t limit_id, int most) {
  return std::max<std::int64_t>(0, most - call.db.number(kTaken, limit_id).value_or(0));
}

std::vector<std::int64_t> keys_of(Call& call, std::int64_t home_id) {
  std::vector<std::int64_t> keys;
  auto rows = call.db.query(kOfHome, home_id);
  while (rows.next()) keys.push_back(rows.integer(0));
  return keys;
}

// Moves what `sql` finds in the lane, priority by priority, to another lane; remembers whose they are.
template <class Find>
void move_found(Call& call, std::int64_t queue_id, std::int64_t from, std::int64_t to, std::set<std::int64_t>& keys, Find find) {
  std::vector<Standing> found;
  each_rank(call, queue_id, from, [&](std::int64_t rank) {
    auto rows = find(rank);
    while (rows.next()) found.push_back({queue_id, from, rank, rows.integer(0), rows.integer(1), rows.integer(2), false});
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

// Lanes say who is due as of `looked_at`, so whoever looks at them says when, and no look may be behind the last one: if the
// wall clock was set back, what is not due any more goes back first. Otherwise it would stand among the due ones, and
// nobody would let it in when its time comes again.
void look_at(Call& call, std::int64_t queue_id, int most) {
  const std::int64_t looked_at = call.db.number(kLookedAt, queue_id).value_or(0);
  if (looked_at == call.wall_us()) return;
  call.db.execute(kLook, queue_id, call.wall_us());
  if (looked_at < call.wall_us()) return;
  std::set<std::int64_t> keys;
  for (const std::int64_t beside : {0, 1}) {
    move_found(call, queue_id, kFullLane + beside, kEarlyLane + beside, keys,
               [&, beside](std::int64_t rank) { return call.db.query(kNoLongerDue, queue_id, kFullLane + beside, rank, call.wall_us()); });
  }
  for (const std::int64_t limit_id : keys_of(call, call.names.home_of(queue_id))) choose_in_queue(call, limit_id, queue_id, most);
}

}  // namespace

std::int64_t intern_limit_key(Call& call, std::int64_t home_id, const std::string& name) {
  if (const auto known = call.db.number(kFind, home_id, name)) return *known;
  call.db.execute(kAdd, home_id, name);
  return call.db.last_insert_rowid();
}

std::int64_t key_slots_taken(Call& call, std::int64_t limit_id) { return call.db.number(kTakenNow, limit_id, call.now_us()).value_or(0); }

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
          for (const Standing& standing : all_of_key(call, limit_id, queue_id, lane + beside)) move_to_lane(call, standing, kCommonLane + beside);
        }
      }
    }
    choose_of_key(call, home_id, limit_id);
  }
}

}  // namespace fenceline::sqlite
