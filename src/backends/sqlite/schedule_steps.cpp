// Accounts that move on, and back. Whoever fires a tick writes its row and enqueues its job in one transaction (S1).
#include <algorithm>
#include <utility>

#include "backends/sqlite/schedule_rows.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFire =
    "INSERT OR IGNORE INTO fenceline_tick (ns_id, schedule, tick, job, at, owner, place) VALUES (?1, ?2, ?3, ?4, ?5, "
    "?6, ?7)";
constexpr const char* kFiredBetween =
    "SELECT 1 FROM fenceline_tick WHERE ns_id = ?1 AND schedule = ?2 AND tick BETWEEN ?3 AND ?4 LIMIT 1";

// The range that begins at that moment or before it, as the last that does.
constexpr const char* kRangeBefore = R"sql(
  SELECT first, last, count, reason FROM fenceline_tick_range WHERE ns_id = ?1 AND schedule = ?2 AND first <= ?3
    ORDER BY first DESC LIMIT 1)sql";
constexpr const char* kSkip = R"sql(
  INSERT INTO fenceline_tick_range (ns_id, schedule, first, last, count, reason, at, owner, place)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))sql";
constexpr const char* kLengthenRange = R"sql(
  UPDATE fenceline_tick_range SET last = ?4, count = count + ?5, at = ?6, owner = ?7, place = ?8 WHERE ns_id = ?1
    AND schedule = ?2 AND first = ?3)sql";
constexpr const char* kCutRange =
    "UPDATE fenceline_tick_range SET last = ?4, count = ?5 WHERE ns_id = ?1 AND schedule = ?2 AND first = ?3";
constexpr const char* kDropAfter = "DELETE FROM fenceline_tick_range WHERE ns_id = ?1 AND schedule = ?2 AND first > ?3";
constexpr const char* kDropRange = "DELETE FROM fenceline_tick_range WHERE ns_id = ?1 AND schedule = ?2 AND first = ?3";

std::optional<SkippedTicks> range_before(Call& call, std::int64_t ns_id, const std::string& name, WallTime at) {
  auto row = call.db.query(kRangeBefore, ns_id, name, us(at));
  if (!row.next()) return std::nullopt;
  return SkippedTicks{wall_time(row.integer(0)), wall_time(row.integer(1)), row.integer(2), row.text(3)};
}

bool fired_between(Call& call, std::int64_t ns_id, const std::string& name, WallTime first, WallTime last) {
  return call.db.number(kFiredBetween, ns_id, name, us(first), us(last)).has_value();
}

// Ticks of an earlier spec stay apart: who moves the account back must be able to count what is kept.
void skip(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, const SkippedTicks& range,
          const TickWriter& writer) {
  const std::string& name = schedule.row.name;
  const std::optional<SkippedTicks> before = range_before(call, ns_id, name, range.first);
  if (before && before->reason == range.reason && before->last > schedule.row.counts_from &&
      !fired_between(call, ns_id, name, before->last, range.first)) {
    call.db.execute(kLengthenRange, ns_id, name, us(before->first), us(range.last), range.count, call.wall_us(),
                    writer.owner, writer.place);
    return;
  }
  call.db.execute(kSkip, ns_id, name, us(range.first), us(range.last), range.count, range.reason, call.wall_us(),
                  writer.owner, writer.place);
  schedule.ticks += 1;
}

StepAnswer answer_of(Reason refused, const ScheduleRecord& schedule) {
  return {refused, {}, schedule.row.revision, schedule.row.resolved_to, schedule.row.fired_to};
}

}  // namespace

Reason refusal_of(Call& call, std::int64_t ns_id, const ScheduleRecord& schedule, const TickStep& step) {
  if (schedule.row.revision != step.revision) return Reason::changed;
  if (schedule.row.resolved_to != step.from) return Reason::moved;
  if (step.to > call.wall) return Reason::early;
  const bool covers = std::ranges::any_of(step.skipped, [&](const SkippedTicks& range) {
    return fired_between(call, ns_id, step.schedule, range.first, range.last);
  });
  return covers ? Reason::covers : Reason::none;
}

void take_step(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, const TickStep& step, const TickWriter& writer,
               std::vector<NewJob>& jobs) {
  schedule.moved = {writer.request, {}};
  for (const FiredTick& fired : step.fired) {
    bool first = fired.tick > schedule.row.bar;
    if (first) {
      call.db.execute(kFire, ns_id, step.schedule, us(fired.tick), Bytes{as_bytes(fired.job.id)}, call.wall_us(),
                      writer.owner, writer.place);
      first = call.db.changes() > 0;
    }
    if (!first) {
      schedule.moved.duplicates.push_back(fired.tick);
      continue;
    }
    schedule.ticks += 1;
    schedule.row.fired_to = std::max(schedule.row.fired_to, fired.tick);
    jobs.push_back(fired.job);
  }
  for (const SkippedTicks& range : step.skipped) skip(call, ns_id, schedule, range, writer);
  schedule.row.resolved_to = step.to;
}

Result<void> enqueue_all(Call& call, const std::string& ns, std::vector<NewJob> jobs) {
  if (jobs.empty()) return {};
  const EnqueueRequest request{.ns = ns, .jobs = std::move(jobs)};
  const Result<EnqueueReply> reply = enqueue(call, request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->existing > 0)
    return fail(Code::conflict, "the job of a tick already exists, or its id is an alias of another job");
  return {};
}

bool open_ranges_after(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, WallTime to,
                       const std::optional<SkippedTicks>& kept) {
  const std::string& name = schedule.row.name;
  std::optional<SkippedTicks> across = range_before(call, ns_id, name, to);
  if (across && across->last <= to) across.reset();
  if (across.has_value() != kept.has_value()) return false;
  if (across && (kept->first != across->first || kept->reason != across->reason || kept->count >= across->count))
    return false;
  if (across) call.db.execute(kCutRange, ns_id, name, us(kept->first), us(kept->last), kept->count);
  call.db.execute(kDropAfter, ns_id, name, us(to));
  schedule.ticks -= call.db.changes();
  return true;
}

void drop_ranges_beyond(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, WallTime at) {
  const std::string& name = schedule.row.name;
  call.db.execute(kDropAfter, ns_id, name, us(at));
  schedule.ticks -= call.db.changes();
  const std::optional<SkippedTicks> across = range_before(call, ns_id, name, at);
  if (!across || across->last <= at) return;
  call.db.execute(kDropRange, ns_id, name, us(across->first));
  schedule.ticks -= 1;
}

Result<StepReply> step_ticks(Call& call, const StepRequest& request) {
  StepReply reply;
  reply.now = call.wall;
  const auto ns_id = call.names.find_namespace(request.ns);
  const TickWriter writer{request.request, request.owner, request.place};
  std::vector<NewJob> jobs;
  for (const TickStep& step : request.steps) {
    std::optional<ScheduleRecord> schedule = ns_id ? find_schedule(call, *ns_id, step.schedule) : std::nullopt;
    if (schedule && schedule->moved.id == request.request) {
      reply.answers.push_back(answer_of(Reason::none, *schedule));
      reply.answers.back().duplicates = schedule->moved.duplicates;
      continue;
    }
    if (!schedule || schedule->row.removed) {
      reply.answers.push_back({.refused = Reason::not_found});
      continue;
    }
    const Reason refused = refusal_of(call, *ns_id, *schedule, step);
    if (refused == Reason::none) {
      take_step(call, *ns_id, *schedule, step, writer, jobs);
      put_account(call, *ns_id, *schedule);
    }
    StepAnswer& answer = reply.answers.emplace_back(answer_of(refused, *schedule));
    if (answer.refused == Reason::none) answer.duplicates = schedule->moved.duplicates;
  }
  if (auto ok = enqueue_all(call, request.ns, std::move(jobs)); !ok) return std::unexpected(ok.error());
  return reply;
}

}  // namespace fenceline::sqlite
