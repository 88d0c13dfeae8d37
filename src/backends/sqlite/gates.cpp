#include "backends/sqlite/gates.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/past.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kPutReady = R"sql(
  INSERT INTO ready (queue_id, lane, rank, run_at, seq, fence, deliveries, limit_id, past)
  SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8 FROM batch)sql";

constexpr const char* kAgain =
    "SELECT queue_id, lane, rank, run_at, limit_id, past FROM ready WHERE seq = ?1 AND deliveries > 0";
constexpr const char* kLaneOf = R"sql(
  SELECT lane FROM ready WHERE queue_id = ?1 AND lane IN (0, 1, 2, 3, 4, 5, 6) AND rank = ?2 AND run_at = ?3
    AND seq = ?4)sql";
// A plain job stands in the common lane, perhaps in the middle of a row.
constexpr const char* kRowBefore = R"sql(
  SELECT seq, more FROM ready WHERE queue_id = ?1 AND lane = 0 AND rank = ?2 AND run_at = ?3 AND seq <= ?4
    ORDER BY seq DESC LIMIT 1)sql";
constexpr const char* kPutRow =
    "INSERT INTO ready (queue_id, lane, rank, run_at, seq, more) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kMove = R"sql(
  UPDATE ready SET lane = ?6 WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at = ?4 AND seq = ?5)sql";
constexpr const char* kDropReady =
    "DELETE FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at = ?4 AND seq = ?5";

constexpr const char* kFindGroup = "SELECT id FROM grp WHERE home_id = ?1 AND name = ?2";
constexpr const char* kAddGroup = "INSERT INTO grp (home_id, name) VALUES (?1, ?2)";
constexpr const char* kJoinGroup = "INSERT INTO member (group_id, place, seq) VALUES (?1, ?2, ?3)";
constexpr const char* kLeaveGroup = "DELETE FROM member WHERE group_id = ?1 AND place = ?2";
constexpr const char* kHead = "SELECT seq FROM member WHERE group_id = ?1 ORDER BY place LIMIT 1";
constexpr const char* kAnySlotOfGroup = "SELECT 1 FROM slot WHERE group_id = ?1 LIMIT 1";
constexpr const char* kAnySlotOfJob = "SELECT 1 FROM slot WHERE seq = ?1";
constexpr const char* kFloor = "SELECT value FROM meta WHERE key = 'floor'";
constexpr const char* kRaiseFloor = "UPDATE meta SET value = max(value, ?1) WHERE key = 'floor'";
constexpr const char* kGroupFence = "SELECT fence FROM grp WHERE id = ?1";
constexpr const char* kNoteFence = "UPDATE grp SET fence = ?2 WHERE id = ?1";

bool slot_taken(Call& call, std::int64_t seq) { return call.db.number(kAnySlotOfJob, seq).has_value(); }

// Whether group and own slot let the job out of the held lane.
bool is_held(Call& call, const Delivery& delivery) {
  if (delivery.group_id &&
      (head_of(call, *delivery.group_id) != delivery.seq || call.db.number(kAnySlotOfGroup, *delivery.group_id)))
    return true;
  return slot_taken(call, delivery.seq);
}

// A job that nothing but its limit key may still hold. Returns whether the key has to be looked at.
std::pair<std::int64_t, bool> open_lane(Call& call, std::int64_t queue_id, const std::optional<std::int64_t>& limit_id,
                                        std::int64_t run_at, bool alone) {
  const std::int64_t beside = alone ? 1 : 0;
  if (!limit_id || per_key_most(call, call.names.home_of(queue_id)) == 0) return {kCommonLane + beside, false};
  return {(run_at <= call.wall_us() ? kFullLane : kEarlyLane) + beside, true};
}

void let_out(Call& call, const Standing& standing) {
  if (standing.lane != kHeldLane) return;
  const auto [lane, limited] = open_lane(call, standing.queue_id, standing.limit_id, standing.run_at, standing.alone);
  move_to_lane(call, standing, lane);
  call.awakened.insert(standing.queue_id);
  if (limited) choose_of_key(call, call.names.home_of(standing.queue_id), *standing.limit_id);
}

// Of a job without flags that was never granted; all but its row is known.
std::optional<Standing> find_plain(Call& call, Standing standing) {
  auto row = call.db.query(kRowBefore, standing.queue_id, standing.rank, standing.run_at, standing.seq);
  if (!row.next() || row.integer(0) + row.integer(1) < standing.seq) return std::nullopt;
  standing.lane = kCommonLane;
  standing.first = row.integer(0);
  standing.more = row.integer(1);
  return standing;
}

}  // namespace

std::optional<Standing> find_standing(Call& call, std::int64_t seq) {
  if (auto again = call.db.query(kAgain, seq); again.next()) {
    Delivery delivery;
    unpack_past(again.bytes(5), delivery);
    return Standing{again.integer(0),
                    again.integer(1),
                    again.integer(2),
                    again.integer(3),
                    seq,
                    again.maybe_integer(4),
                    must_run_alone(delivery.losses_in_row)};
  }
  Standing standing{.seq = seq};
  {
    JobWalk job(call);
    if (!job.find(seq)) return std::nullopt;
    standing.queue_id = job.queue_id();
    standing.rank = -job.priority();
    standing.run_at = job.run_at();
    standing.limit_id = job.limit_id();
    if (job.flags() == 0) return find_plain(call, standing);
  }
  const auto lane = call.db.number(kLaneOf, standing.queue_id, standing.rank, standing.run_at, seq);
  if (!lane) return std::nullopt;
  standing.lane = *lane;
  return standing;
}

void drop_standing(Call& call, const Standing& s) {
  if (s.more == 0) {
    call.db.execute(kDropReady, s.queue_id, s.lane, s.rank, s.run_at, s.seq);
    return;
  }
  const std::int64_t last = s.first + s.more;
  call.db.execute(kDropReady, s.queue_id, s.lane, s.rank, s.run_at, s.first);
  if (s.first < s.seq) call.db.execute(kPutRow, s.queue_id, s.lane, s.rank, s.run_at, s.first, s.seq - 1 - s.first);
  if (s.seq < last) call.db.execute(kPutRow, s.queue_id, s.lane, s.rank, s.run_at, s.seq + 1, last - s.seq - 1);
}

void move_to_lane(Call& call, const Standing& s, std::int64_t lane) {
  check(s.more == 0 || s.lane == lane, "a plain job stays in its lane");
  if (s.lane != lane) call.db.execute(kMove, s.queue_id, s.lane, s.rank, s.run_at, s.seq, lane);
}

void enter_ready(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  std::vector<std::int64_t> lanes;
  std::vector<std::string> pasts;
  std::set<std::pair<std::int64_t, std::int64_t>> keys;  // home and limit key
  lanes.reserve(deliveries.size());
  for (const Delivery& d : deliveries) {
    pasts.push_back(pack_past(d));
    if (is_held(call, d)) {
      lanes.push_back(kHeldLane);
      continue;
    }
    const auto [lane, limited] = open_lane(call, d.queue_id, d.limit_id, d.run_at, must_run_alone(d.losses_in_row));
    lanes.push_back(lane);
    if (limited) keys.emplace(call.names.home_of(d.queue_id), *d.limit_id);
    call.awakened.insert(d.queue_id);
  }
  call.db.batch().show(deliveries.size(), [&](std::size_t row, int column) {
    const Delivery& d = deliveries[row];
    switch (column) {
      case 0: return Value::integer(d.queue_id);
      case 1: return Value::integer(lanes[row]);
      case 2: return Value::integer(-d.priority);
      case 3: return Value::integer(d.run_at);
      case 4: return Value::integer(d.seq);
      case 5: return Value::integer(d.fence);
      case 6: return Value::integer(d.deliveries);
      case 7: return Value::maybe(d.limit_id);
      default: return pasts[row].empty() ? Value{} : Value::blob(pasts[row]);
    }
  });
  call.db.execute(kPutReady);
  for (const auto& [home_id, limit_id] : keys) choose_of_key(call, home_id, limit_id);
}

std::int64_t intern_group(Call& call, std::int64_t home_id, const std::string& name) {
  if (const auto known = call.db.number(kFindGroup, home_id, name)) return *known;
  call.db.execute(kAddGroup, home_id, name);
  return call.db.last_insert_rowid();
}

std::optional<std::int64_t> head_of(Call& call, std::int64_t group_id) { return call.db.number(kHead, group_id); }

bool group_is_free(Call& call, std::int64_t group_id) {
  return !head_of(call, group_id) && !call.db.number(kAnySlotOfGroup, group_id);
}

void join_group(Call& call, std::int64_t group_id, std::int64_t place, std::int64_t seq) {
  call.db.execute(kJoinGroup, group_id, place, seq);
}

void leave_group(Call& call, std::int64_t group_id, std::int64_t place) {
  call.db.execute(kLeaveGroup, group_id, place);
  open_head(call, group_id);
}

void open_head(Call& call, std::int64_t group_id) {
  if (call.db.number(kAnySlotOfGroup, group_id)) return;
  if (const auto head = head_of(call, group_id)) open_job(call, *head);
}

void open_job(Call& call, std::int64_t seq) {
  if (slot_taken(call, seq)) return;
  if (const auto standing = find_standing(call, seq)) let_out(call, *standing);
}

Fence floor_of_fences(Call& call) { return call.db.number(kFloor).value_or(0); }

void raise_floor_to(Call& call, Fence fence) { call.db.execute(kRaiseFloor, fence); }

Fence fence_of_group(Call& call, std::int64_t group_id) { return call.db.number(kGroupFence, group_id).value_or(0); }

Result<Fence> mint_fence(Call& call, const Delivery& delivery, Fence floor) {
  const Fence own = std::max(delivery.fence, floor);
  if (!delivery.group_id) return next_fence(own, call.wall);
  const Result<Fence> fence = next_fence(std::max(own, fence_of_group(call, *delivery.group_id)), call.wall);
  if (fence) call.db.execute(kNoteFence, *delivery.group_id, *fence);
  return fence;
}

}  // namespace fenceline::sqlite
