#include "backends/sqlite/ready_lanes.hpp"

#include <algorithm>

namespace fenceline::sqlite {
namespace {

constexpr const char* kNextRank =
    "SELECT rank FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank > ?3 ORDER BY rank LIMIT 1";
constexpr const char* kSomeDue =
    "SELECT 1 FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4 LIMIT 1";
constexpr const char* kNextRun = R"sql(
  SELECT run_at FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at > ?4 ORDER BY run_at LIMIT 1)sql";
constexpr const char* kCountDue = R"sql(
  SELECT sum(more + 1) FROM (SELECT more FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4
    LIMIT ?5))sql";
constexpr const char* kCountAhead = R"sql(
  SELECT sum(more + 1) FROM (SELECT more FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at > ?4
    LIMIT ?5))sql";

}  // namespace

std::optional<std::int64_t> next_rank(Call& call, std::int64_t queue_id, std::int64_t lane, std::int64_t after) {
  return call.db.number(kNextRank, queue_id, lane, after);
}

bool some_due(Call& call, std::int64_t queue_id, std::int64_t lane) {
  bool found = false;
  each_rank(call, queue_id, lane, [&](std::int64_t rank) {
    found = call.db.number(kSomeDue, queue_id, lane, rank, call.wall_us()).has_value();
    return !found;
  });
  return found;
}

std::int64_t count_due(Call& call, std::int64_t queue_id, std::int64_t lane, std::int64_t most) {
  std::int64_t due = 0;
  each_rank(call, queue_id, lane, [&](std::int64_t rank) {
    due = std::min(most, due + call.db.number(kCountDue, queue_id, lane, rank, call.wall_us(), most - due).value_or(0));
    return due < most;
  });
  return due;
}

std::optional<Duration> next_run(Call& call, const std::vector<std::int64_t>& queues) {
  std::optional<Duration> next;
  for (const std::int64_t queue_id : queues) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      each_rank(call, queue_id, lane, [&](std::int64_t rank) {
        const auto run_at = call.db.number(kNextRun, queue_id, lane, rank, call.wall_us());
        if (run_at && (!next || Duration{*run_at - call.wall_us()} < *next)) next = Duration{*run_at - call.wall_us()};
        return true;
      });
    }
  }
  return next;
}

std::int64_t count_ahead(Call& call, const std::vector<std::int64_t>& queues, std::int64_t most) {
  std::int64_t ahead = 0;
  for (const std::int64_t queue_id : queues) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      each_rank(call, queue_id, lane, [&](std::int64_t rank) {
        ahead = std::min(
            most, ahead + call.db.number(kCountAhead, queue_id, lane, rank, call.wall_us(), most - ahead).value_or(0));
        return ahead < most;
      });
    }
  }
  return ahead;
}

}  // namespace fenceline::sqlite
