// Reads schedules and the history of their ticks.
#include <algorithm>
#include <limits>
#include <utility>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/schedule_rows.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kLastFired =
    "SELECT tick, job FROM fenceline_tick WHERE ns_id = ?1 AND schedule = ?2 AND tick <= ?3 ORDER BY tick DESC LIMIT "
    "?4";

// Both halves come in their order, so nothing is sorted.
constexpr const char* kTicks = R"sql(
  SELECT tick, tick, 1, '', job, at, owner, place FROM fenceline_tick WHERE ns_id = ?1 AND schedule = ?2 AND tick > ?3
    AND tick < ?4
  UNION ALL
  SELECT first, last, count, reason, NULL, at, owner, place FROM fenceline_tick_range WHERE ns_id = ?1 AND schedule = ?2
    AND first > ?3 AND first < ?4
  ORDER BY 1 DESC LIMIT ?5)sql";
constexpr const char* kFiredTicks = R"sql(
  SELECT tick, tick, 1, '', job, at, owner, place FROM fenceline_tick WHERE ns_id = ?1 AND schedule = ?2 AND tick > ?3
    AND tick < ?4 ORDER BY tick DESC LIMIT ?5)sql";

// Looked for all at once: ids of one moment are neighbours.
void add_unfinished(Call& call, std::int64_t ns_id, std::vector<ScheduleRow>& schedules) {
  struct Fired {
    ScheduleRow* schedule;
    WallTime tick;
    JobId job;
  };
  std::vector<Fired> fired;
  for (ScheduleRow& schedule : schedules) {
    auto rows = call.db.query(kLastFired, ns_id, schedule.name, call.wall_us(), kOverlapLooked);
    while (rows.next()) fired.push_back({&schedule, wall_time(rows.integer(0)), as_id(rows.bytes(1))});
  }
  std::ranges::sort(fired, {}, &Fired::job);
  std::vector<const JobId*> ids;
  for (const Fired& one : fired) ids.push_back(&one.job);
  const std::vector<std::optional<Delivery>> deliveries = find_deliveries(call, ns_id, ids);
  for (std::size_t i = 0; i < fired.size(); ++i) {
    if (deliveries[i] && !is_finished(deliveries[i]->state))
      fired[i].schedule->unfinished.push_back({fired[i].tick, fired[i].job, deliveries[i]->state});
  }
  for (ScheduleRow& schedule : schedules) std::ranges::sort(schedule.unfinished, {}, &UnfinishedRun::tick);
}

std::vector<ScheduleRecord> find_named(Call& call, std::int64_t ns_id, std::vector<std::string> names) {
  std::ranges::sort(names);
  std::vector<ScheduleRecord> found;
  for (const std::string& name : names) {
    std::optional<ScheduleRecord> schedule = find_schedule(call, ns_id, name);
    if (!schedule || schedule->row.removed) continue;
    schedule->row.spec = spec_of(call, ns_id, name);
    found.push_back(std::move(*schedule));
  }
  return found;
}

}  // namespace

Result<SchedulesReply> list_schedules(Call& call, const SchedulesRequest& request) {
  SchedulesReply reply;
  reply.now = call.wall;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  reply.version = schedule_count(call, *ns_id).version;
  std::vector<ScheduleRecord> found;
  if (!request.names.empty()) {
    found = find_named(call, *ns_id, request.names);
  } else {
    found = request.changed_after ? changed_schedules(call, *ns_id, *request.changed_after, request.limit + 1)
                                  : schedules_after(call, *ns_id, request.after, request.limit + 1);
    reply.more = found.size() > static_cast<std::size_t>(request.limit);
    if (reply.more) found.pop_back();
  }
  reply.schedules.reserve(found.size());
  for (ScheduleRecord& schedule : found) reply.schedules.push_back(std::move(schedule.row));
  if (request.unfinished) add_unfinished(call, *ns_id, reply.schedules);
  return reply;
}

Result<TicksReply> list_ticks(Call& call, const TicksRequest& request) {
  TicksReply reply;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  const std::int64_t after = request.after ? us(*request.after) : std::numeric_limits<std::int64_t>::min();
  const std::int64_t before = request.before ? us(*request.before) : std::numeric_limits<std::int64_t>::max();
  auto rows = call.db.query(request.fired_only ? kFiredTicks : kTicks, *ns_id, request.schedule, after, before,
                            request.limit + 1);
  while (rows.next()) {
    if (reply.ticks.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = reply.ticks.back().tick;
      break;
    }
    TickRow& row = reply.ticks.emplace_back();
    row.tick = wall_time(rows.integer(0));
    row.last = wall_time(rows.integer(1));
    row.count = rows.integer(2);
    row.reason = rows.text(3);
    if (!rows.is_null(4)) row.job = as_id(rows.bytes(4));
    row.at = wall_time(rows.integer(5));
    row.owner = rows.text(6);
    row.place = rows.text(7);
  }
  return reply;
}

}  // namespace fenceline::sqlite
