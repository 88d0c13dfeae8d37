// Schedules: steps of accounts as whole batches of arrays, all else as JSON.
#include <algorithm>
#include <span>

#include "backends/postgres/job_arrays.hpp"
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/store_parts.hpp"
#include "base/utc_text.hpp"

namespace fenceline {
namespace {

using namespace postgres;

std::int64_t micros_of(WallTime at) { return at.time_since_epoch().count(); }

// Steps, and their jobs or that of a run, as take_steps has them on the server: names, revisions, froms, tos, fired_of,
// ticks, skip_of, firsts, lasts, counts, reasons; then the jobs.
Result<void> add_steps(Params& params, std::span<const TickStep> steps, const NewJob* run) {
  std::size_t fired_count = 0, skipped_count = 0;
  for (const TickStep& step : steps) {
    fired_count += step.fired.size();
    skipped_count += step.skipped.size();
  }
  Array names(Type::text, steps.size()), revisions(Type::int8, steps.size()), froms(Type::int8, steps.size()),
      tos(Type::int8, steps.size());
  Array fired_of(Type::int4, fired_count), ticks(Type::int8, fired_count);
  Array skip_of(Type::int4, skipped_count), firsts(Type::int8, skipped_count), lasts(Type::int8, skipped_count),
      counts(Type::int8, skipped_count), reasons(Type::text, skipped_count);
  JobArrays jobs(fired_count + (run ? 1 : 0));
  std::int32_t n = 0;
  for (const TickStep& step : steps) {
    ++n;
    names.add_bytes(step.schedule);
    revisions.add_int8(step.revision);
    froms.add_int8(micros_of(step.from));
    tos.add_int8(micros_of(step.to));
    for (const FiredTick& fired : step.fired) {
      fired_of.add_int4(n);
      ticks.add_int8(micros_of(fired.tick));
      if (auto ok = jobs.add(fired.job); !ok) return ok;
    }
    for (const SkippedTicks& range : step.skipped) {
      skip_of.add_int4(n);
      firsts.add_int8(micros_of(range.first));
      lasts.add_int8(micros_of(range.last));
      counts.add_int8(range.count);
      reasons.add_bytes(range.reason);
    }
  }
  if (run) {
    if (auto ok = jobs.add(*run); !ok) return ok;
  }
  params.array(names)
      .array(revisions)
      .array(froms)
      .array(tos)
      .array(fired_of)
      .array(ticks)
      .array(skip_of)
      .array(firsts)
      .array(lasts)
      .array(counts)
      .array(reasons);
  jobs.put_into(params);
  return {};
}

std::vector<WallTime> times_in(const json& values) {
  std::vector<WallTime> out;
  for (const json& value : values) out.push_back(WallTime{Duration{value.get<std::int64_t>()}});
  return out;
}

// Columns of step_answer, in the order in which sql/ declares them.
enum StepColumn { kN, kRefused, kDuplicates, kRevision, kResolvedTo, kFiredTo, kNow };

StepReply read_steps(const Rows& rows, std::size_t steps) {
  if (rows.size() != static_cast<int>(steps)) throw WireFailure("not every step was answered");
  const auto time = [&](int row, int column) { return WallTime{Duration{rows.integer_or(row, column, 0)}}; };
  StepReply reply;
  for (int row = 0; row < rows.size(); ++row) {
    StepAnswer answer{reason_from(rows.text(row, kRefused)),
                      {},
                      rows.integer_or(row, kRevision, 0),
                      time(row, kResolvedTo),
                      time(row, kFiredTo)};
    if (!rows.is_null(row, kDuplicates)) answer.duplicates = times_in(json::parse(rows.jsonb(row, kDuplicates)));
    reply.answers.push_back(std::move(answer));
    reply.now = time(row, kNow);
  }
  return reply;
}

ScheduleRow read_schedule(const json& object) {
  ScheduleRow row;
  row.name = text_in(object, "name");
  row.spec = bytes_in(object, "spec");
  row.revision = integer_in(object, "revision");
  row.version = integer_in(object, "version");
  row.resolved_to = time_in(object, "resolved_to");
  row.counts_from = time_in(object, "counts_from");
  row.fired_to = time_in(object, "fired_to");
  row.bar = time_in(object, "bar");
  if (const auto paused = object.find("paused"); paused != object.end())
    row.paused = SchedulePause{time_in(*paused, "at"), text_in(*paused, "by"), text_in(*paused, "reason")};
  row.removed = flag_in(object, "removed");
  row.created_at = time_in(object, "created_at");
  row.changed_at = time_in(object, "changed_at");
  for (const json& run : array_in(object, "unfinished"))
    row.unfinished.push_back(
        {time_in(run, "tick"), id_in(run, "job"), static_cast<JobState>(integer_in(run, "state"))});
  return row;
}

TickRow read_tick(const json& object) {
  TickRow row;
  row.tick = time_in(object, "tick");
  row.last = optional_time_in(object, "last").value_or(row.tick);
  row.count = integer_in(object, "count", 1);
  row.reason = text_in(object, "reason");
  row.job = optional_id_in(object, "job");
  row.at = time_in(object, "at");
  row.owner = text_in(object, "owner");
  row.place = text_in(object, "place");
  return row;
}

// For the trail.
std::string subject_of(const ChangeScheduleRequest& request) {
  if (request.change == ScheduleChange::rewind) return request.name + " " + utc_text(request.to);
  if (request.change == ScheduleChange::run) return request.name + " " + to_string(request.job->id);
  return request.name;
}

json change_json(const ChangeScheduleRequest& request) {
  json asked{{"name", request.name},
             {"change", static_cast<int>(request.change)},
             {"revision", request.revision},
             {"subject", subject_of(request)},
             {"act", act_json(request.act)}};
  if (request.change == ScheduleChange::put) asked["spec"] = to_hex(request.spec);
  if (request.change == ScheduleChange::rewind) {
    asked["to"] = micros_of(request.to);
    asked["from"] = micros_of(request.from);
    if (request.kept)
      asked["kept"] = {{"first", micros_of(request.kept->first)},
                       {"last", micros_of(request.kept->last)},
                       {"count", request.kept->count},
                       {"reason", request.kept->reason}};
  }
  return asked;
}

}  // namespace

Result<SchedulesReply> PostgresStore::schedules(const SchedulesRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json asked{{"unfinished", request.unfinished}, {"limit", request.limit}};
  if (!request.names.empty()) asked["names"] = request.names;
  else if (request.changed_after) asked["changed_after"] = *request.changed_after;
  else asked["after"] = request.after;
  const Result<std::vector<json>> rows =
      parts_->call("list_schedules", request.ns, asked, CallKind::look, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    if (rows->empty()) throw WireFailure("the answer about schedules has no head");
    SchedulesReply reply;
    reply.version = integer_in(rows->front(), "version");
    reply.now = time_in(rows->front(), "now");
    reply.more = request.names.empty() && rows->size() - 1 > static_cast<std::size_t>(request.limit);
    const std::span found = std::span(*rows).subspan(1);
    for (const json& row : found.first(reply.more ? static_cast<std::size_t>(request.limit) : found.size()))
      reply.schedules.push_back(read_schedule(row));
    return reply;
  });
}

Result<StepReply> PostgresStore::step_ticks(const StepRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Params params;
  params.text(request.ns).text(request.request).text(request.owner).text(request.place);
  if (auto ok = add_steps(params, request.steps, nullptr); !ok) return std::unexpected(ok.error());
  const Result<Rows> rows = parts_->pool.run(parts_->step_ticks, params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] { return read_steps(*rows, request.steps.size()); });
}

Result<ChangeScheduleReply> PostgresStore::change_schedule(const ChangeScheduleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Params params;
  try {
    params.text(request.ns)
        .jsonb(change_json(request).dump())
        .text(request.request)
        .text(request.owner)
        .text(request.place);
  } catch (const json::exception&) {
    return fail(Code::invalid, "a text is not valid UTF-8, so this store cannot keep it");
  }
  const std::span<const TickStep> steps =
      request.step ? std::span<const TickStep>(&*request.step, 1) : std::span<const TickStep>{};
  if (auto ok = add_steps(params, steps, request.job ? &*request.job : nullptr); !ok)
    return std::unexpected(ok.error());
  const Result<Rows> rows = parts_->pool.run(parts_->change_schedule, params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    if (rows->size() == 0) throw WireFailure("the answer to a change is empty");
    const json reply = json::parse(rows->jsonb(0, 0));
    return ChangeScheduleReply{read_schedule(reply.at("schedule")), times_in(array_in(reply, "duplicates")),
                               time_in(reply, "now")};
  });
}

Result<TicksReply> PostgresStore::ticks(const TicksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json asked{{"schedule", request.schedule}, {"fired_only", request.fired_only}, {"limit", request.limit}};
  if (request.after) asked["after"] = micros_of(*request.after);
  if (request.before) asked["before"] = micros_of(*request.before);
  const Result<json> rows = parts_->call_one("list_ticks", request.ns, asked, CallKind::look, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    TicksReply reply;
    for (const json& row : *rows) {
      if (reply.ticks.size() == static_cast<std::size_t>(request.limit)) reply.next = reply.ticks.back().tick;
      else reply.ticks.push_back(read_tick(row));
    }
    return reply;
  });
}

}  // namespace fenceline
