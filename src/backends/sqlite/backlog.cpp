// What lies before a draining worker. It only reads, so gates whose time has come, and that no claim has opened yet,
// are looked through.
#include <algorithm>
#include <set>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr std::int64_t kCountedMost = 100'000;

constexpr const char* kDueByKey = R"sql(
  SELECT limit_id, count(*) FROM
    (SELECT limit_id FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4 LIMIT ?5)
      GROUP BY limit_id)sql";
constexpr const char* kEndedSlots = "SELECT seq, group_id FROM slot WHERE home_id = ?1 AND lease_end <= ?2";
constexpr const char* kSlotOfGroup = "SELECT 1 FROM slot WHERE group_id = ?1 AND lease_end > ?2 LIMIT 1";
constexpr const char* kSlotOfJob = "SELECT 1 FROM slot WHERE seq = ?1 AND lease_end > ?2";

class Look {
 public:
  Look(Call& call, BacklogReply& reply) : call_(call), reply_(reply) {}

  void at_queue(std::int64_t queue_id) {
    const Home home = read_home(call_, call_.names.home_of(queue_id));
    const LeaseCensus census = take_census(call_, {queue_id});
    reply_.running = reply_.running || census.alive;
    if (home.paused) block(count_run_out(call_, queue_id, kCountedMost));
    else reply_.claimable = reply_.claimable || census.run_out;
    if (home.paused || room_in(call_, home) == 0) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) block(count_due(call_, queue_id, lane, kCountedMost));
      return;
    }
    reply_.claimable =
        reply_.claimable || some_due(call_, queue_id, kCommonLane) || some_due(call_, queue_id, kAloneLane);
    look_at_held(home, queue_id);
    for (std::int64_t lane = kFullLane; lane < kLanes; ++lane) look_at_keys(home, queue_id, lane);
  }

 private:
  void block(std::int64_t jobs) { reply_.blocked = std::min(reply_.blocked + jobs, kCountedMost); }

  bool is_full(const Home& home, const std::optional<std::int64_t>& limit_id) {
    return limit_id && home.settings.limit_per_key > 0 &&
           key_slots_taken(call_, *limit_id) >= home.settings.limit_per_key;
  }

  // All of them wait for something, but for those whose slot has come to its end.
  void look_at_held(const Home& home, std::int64_t queue_id) {
    std::set<std::int64_t> free;  // numbers of jobs
    {
      auto rows = call_.db.query(kEndedSlots, home.id, call_.now_us());
      while (rows.next()) {
        const auto group_id = rows.maybe_integer(1);
        if (!group_id) free.insert(rows.integer(0));
        else if (const auto head = head_of(call_, *group_id);
                 head && !call_.db.number(kSlotOfGroup, *group_id, call_.now_us()))
          free.insert(*head);
      }
    }
    std::int64_t let_out = 0;
    for (const std::int64_t seq : free) {
      const auto standing = find_standing(call_, seq);
      if (!standing || standing->queue_id != queue_id || standing->lane != kHeldLane ||
          standing->run_at > call_.wall_us())
        continue;
      if (call_.db.number(kSlotOfJob, seq, call_.now_us()) || is_full(home, standing->limit_id)) continue;
      let_out += 1;
      reply_.claimable = true;
    }
    block(count_due(call_, queue_id, kHeldLane, kCountedMost + let_out) - let_out);
  }

  void look_at_keys(const Home& home, std::int64_t queue_id, std::int64_t lane) {
    each_rank(call_, queue_id, lane, [&](std::int64_t rank) {
      auto rows = call_.db.query(kDueByKey, queue_id, lane, rank, call_.wall_us(), kCountedMost);
      while (rows.next()) {
        if (is_full(home, rows.maybe_integer(0))) block(rows.integer(1));
        else reply_.claimable = true;
      }
      return true;
    });
  }

  Call& call_;
  BacklogReply& reply_;
};

}  // namespace

Result<BacklogReply> backlog(Call& call, const BacklogRequest& request) {
  BacklogReply reply;
  const std::vector<std::int64_t> queues = known_queues(call, request.ns, request.queues, request.stage);
  Look look(call, reply);
  for (const std::int64_t queue_id : queues) look.at_queue(queue_id);
  reply.ahead = count_ahead(call, queues, kCountedMost);
  reply.next_due = next_run(call, queues);
  return reply;
}

}  // namespace fenceline::sqlite
