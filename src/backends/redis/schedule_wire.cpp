#include "backends/redis/schedule_wire.hpp"

#include "backends/redis/job_wire.hpp"
#include "backends/redis/msgpack.hpp"

namespace fenceline::redis {
namespace {

WallTime wall(MsgpackReader& reader) { return WallTime{Duration{reader.number()}}; }

}  // namespace

std::string packed(const TickStep& step) {
  std::string out;
  MsgpackWriter writer(out);
  writer.list(6)
      .text(step.schedule)
      .number(step.revision)
      .number(in_microseconds(step.from))
      .number(in_microseconds(step.to))
      .list(step.fired.size() * 4);
  std::string body;
  for (const FiredTick& fired : step.fired) {
    body.clear();
    append_head_and_payload(body, fired.job);
    writer.number(in_microseconds(fired.tick)).text(bytes_of(fired.job.id)).text(body).text(when_of(fired.job));
  }
  writer.list(step.skipped.size() * 4);
  for (const SkippedTicks& range : step.skipped)
    writer.number(in_microseconds(range.first))
        .number(in_microseconds(range.last))
        .number(range.count)
        .text(range.reason);
  return out;
}

std::string packed(const SkippedTicks& range) {
  std::string out;
  MsgpackWriter(out)
      .list(4)
      .number(in_microseconds(range.first))
      .number(in_microseconds(range.last))
      .number(range.count)
      .text(range.reason);
  return out;
}

// In the order of SCHEDULE_FIELDS.
ScheduleRow schedule_in(const std::string& name, std::string_view row, const std::string& spec) {
  MsgpackReader reader(row);
  if (reader.list() < 16) throw WireFailure("the row of a schedule is too short");
  ScheduleRow out;
  out.name = name;
  out.spec = spec;
  out.revision = reader.number();
  out.version = reader.number();
  out.resolved_to = wall(reader);
  out.counts_from = wall(reader);
  out.fired_to = wall(reader);
  out.bar = wall(reader);
  SchedulePause pause;
  const std::int64_t paused_at = reader.number();
  pause.by = reader.text();
  pause.reason = reader.text();
  if (paused_at >= 0) {
    pause.at = WallTime{Duration{paused_at}};
    out.paused = std::move(pause);
  }
  out.removed = reader.number() == 1;
  out.created_at = wall(reader);
  out.changed_at = wall(reader);
  if (reader.has_failed()) throw WireFailure("the row of a schedule is not understood");
  return out;
}

UnfinishedRun unfinished_in(const Value& run) {
  const std::vector<Value>& words = list_in(run, 3);
  const std::int64_t state = number_in(words[2]);
  if (state < 0 || state > static_cast<std::int64_t>(JobState::waiting))
    throw WireFailure("an unfinished job has another state");
  return {wall_in(words[0]), id_in(words[1]), static_cast<JobState>(state)};
}

TickRow tick_in(std::string_view row) {
  MsgpackReader reader(row);
  const std::size_t words = reader.list();
  if (words != 5 && words != 8) throw WireFailure("the row of a tick is of another kind");
  TickRow out{};
  out.tick = out.last = wall(reader);
  const std::string_view job = reader.text();
  if (words == 5 && !reader.has_failed()) out.job = id_in(job);
  out.at = wall(reader);
  out.owner = reader.text();
  out.place = reader.text();
  if (words == 8) {
    out.last = wall(reader);
    out.count = reader.number();
    out.reason = reader.text();
  }
  if (reader.has_failed() || out.fired() != (words == 5)) throw WireFailure("the row of a tick is not understood");
  return out;
}

std::vector<WallTime> walls_in(const Value& list) {
  std::vector<WallTime> out;
  for (const Value& at : list_in(list)) out.push_back(wall_in(at));
  return out;
}

}  // namespace fenceline::redis
