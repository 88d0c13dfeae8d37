#include "backends/sqlite/schedule_rows.hpp"

#include "backends/sqlite/varint.hpp"

namespace fenceline::sqlite {
namespace {

#define FENCELINE_SCHEDULE_COLUMNS                                                                            \
  "s.name, s.revision, s.version, s.removed, s.resolved_to, s.counts_from, s.fired_to, s.bar, s.created_at, " \
  "s.changed_at, s.paused_at, s.paused_by, "                                                                  \
  "s.pause_reason, s.changed, s.changed_duplicates, s.moved, s.moved_duplicates, s.ticks"
constexpr int kSpecColumn = 18;
constexpr const char* kFindSchedule =
    "SELECT " FENCELINE_SCHEDULE_COLUMNS " FROM fenceline_schedule s WHERE s.ns_id = ?1 AND s.name = ?2";
constexpr const char* kChanged = "SELECT " FENCELINE_SCHEDULE_COLUMNS R"sql(, p.spec
  FROM fenceline_schedule s INDEXED BY fenceline_schedule_version
    CROSS JOIN fenceline_schedule_spec p ON p.ns_id = s.ns_id AND p.name = s.name
  WHERE s.ns_id = ?1 AND s.version > ?2 ORDER BY s.version LIMIT ?3)sql";
constexpr const char* kAfter = "SELECT " FENCELINE_SCHEDULE_COLUMNS R"sql(, p.spec
  FROM fenceline_schedule s INDEXED BY fenceline_schedule_there
    CROSS JOIN fenceline_schedule_spec p ON p.ns_id = s.ns_id AND p.name = s.name
  WHERE s.ns_id = ?1 AND s.removed = 0 AND s.name > ?2 ORDER BY s.name LIMIT ?3)sql";
#undef FENCELINE_SCHEDULE_COLUMNS
constexpr const char* kSpec = "SELECT spec FROM fenceline_schedule_spec WHERE ns_id = ?1 AND name = ?2";

constexpr const char* kPutSchedule = R"sql(
  INSERT INTO fenceline_schedule (ns_id, name, revision, version, removed, resolved_to, counts_from, fired_to, bar,
    created_at, changed_at, paused_at, paused_by, pause_reason,
                                  changed, changed_duplicates, moved, moved_duplicates, ticks)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
  ON CONFLICT DO UPDATE SET revision = excluded.revision, version = excluded.version, removed = excluded.removed,
    resolved_to = excluded.resolved_to, counts_from = excluded.counts_from,
    fired_to = excluded.fired_to, bar = excluded.bar, created_at = excluded.created_at,
    changed_at = excluded.changed_at, paused_at = excluded.paused_at, paused_by = excluded.paused_by,
    pause_reason = excluded.pause_reason, changed = excluded.changed, changed_duplicates = excluded.changed_duplicates,
    moved = excluded.moved, moved_duplicates = excluded.moved_duplicates, ticks = excluded.ticks)sql";
constexpr const char* kPutSpec =
    "INSERT INTO fenceline_schedule_spec (ns_id, name, spec) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET spec = "
    "excluded.spec";
constexpr const char* kPutAccount = R"sql(
  UPDATE fenceline_schedule SET resolved_to = ?3, fired_to = ?4, moved = ?5, moved_duplicates = ?6, ticks = ?7
    WHERE ns_id = ?1 AND name = ?2)sql";

constexpr const char* kScheduleCount = "SELECT version, bar FROM fenceline_schedule_count WHERE ns_id = ?1";
constexpr const char* kPutScheduleCount = R"sql(
  INSERT INTO fenceline_schedule_count (ns_id, version, bar) VALUES (?1, ?2, ?3) ON CONFLICT
    DO UPDATE SET version = excluded.version, bar = excluded.bar)sql";

// Numbers one after the other; most have none, which is null.
std::string pack_instants(const std::vector<WallTime>& instants) {
  std::string bytes;
  for (const WallTime instant : instants) add_number(bytes, us(instant));
  return bytes;
}
std::optional<Bytes> maybe_bytes(const std::string& bytes) {
  return bytes.empty() ? std::nullopt : std::optional(Bytes{bytes});
}

std::vector<WallTime> unpack_instants(std::string_view bytes) {
  std::vector<WallTime> instants;
  while (!bytes.empty()) instants.push_back(wall_time(take_number(bytes)));
  return instants;
}

ScheduleRecord read_schedule(const Rows& row) {
  ScheduleRecord schedule;
  schedule.row.name = row.text(0);
  schedule.row.revision = row.integer(1);
  schedule.row.version = row.integer(2);
  schedule.row.removed = row.integer(3) != 0;
  schedule.row.resolved_to = wall_time(row.integer(4));
  schedule.row.counts_from = wall_time(row.integer(5));
  schedule.row.fired_to = wall_time(row.integer(6));
  schedule.row.bar = wall_time(row.integer(7));
  schedule.row.created_at = wall_time(row.integer(8));
  schedule.row.changed_at = wall_time(row.integer(9));
  if (!row.is_null(10)) schedule.row.paused = SchedulePause{wall_time(row.integer(10)), row.text(11), row.text(12)};
  schedule.changed = {row.text(13), unpack_instants(row.bytes(14))};
  schedule.moved = {row.text(15), unpack_instants(row.bytes(16))};
  schedule.ticks = row.integer(17);
  return schedule;
}

std::vector<ScheduleRecord> read_with_specs(Rows rows) {
  std::vector<ScheduleRecord> found;
  while (rows.next()) found.emplace_back(read_schedule(rows)).row.spec = rows.text(kSpecColumn);
  return found;
}

}  // namespace

std::optional<ScheduleRecord> find_schedule(Call& call, std::int64_t ns_id, const std::string& name) {
  auto row = call.db.query(kFindSchedule, ns_id, name);
  return row.next() ? std::optional(read_schedule(row)) : std::nullopt;
}

std::string spec_of(Call& call, std::int64_t ns_id, const std::string& name) {
  auto row = call.db.query(kSpec, ns_id, name);
  return row.next() ? row.text(0) : "";
}

std::vector<ScheduleRecord> changed_schedules(Call& call, std::int64_t ns_id, std::int64_t after, std::int64_t most) {
  return read_with_specs(call.db.query(kChanged, ns_id, after, most));
}

std::vector<ScheduleRecord> schedules_after(Call& call, std::int64_t ns_id, const std::string& after,
                                            std::int64_t most) {
  return read_with_specs(call.db.query(kAfter, ns_id, after, most));
}

ScheduleCount schedule_count(Call& call, std::int64_t ns_id) {
  auto row = call.db.query(kScheduleCount, ns_id);
  return row.next() ? ScheduleCount{row.integer(0), wall_time(row.integer(1))} : ScheduleCount{};
}

void put_schedule_count(Call& call, std::int64_t ns_id, const ScheduleCount& count) {
  call.db.execute(kPutScheduleCount, ns_id, count.version, us(count.bar));
}

void put_schedule(Call& call, std::int64_t ns_id, const ScheduleRecord& schedule) {
  const ScheduleRow& row = schedule.row;
  const std::string changed = pack_instants(schedule.changed.duplicates);
  const std::string moved = pack_instants(schedule.moved.duplicates);
  const SchedulePause pause = row.paused.value_or(SchedulePause{});
  call.db.execute(kPutSchedule, ns_id, row.name, row.revision, row.version, row.removed ? 1 : 0, us(row.resolved_to),
                  us(row.counts_from), us(row.fired_to), us(row.bar), us(row.created_at), us(row.changed_at),
                  row.paused ? std::optional(us(pause.at)) : std::nullopt, pause.by, pause.reason, schedule.changed.id,
                  maybe_bytes(changed), schedule.moved.id, maybe_bytes(moved), schedule.ticks);
}

void put_spec(Call& call, std::int64_t ns_id, const std::string& name, const std::string& spec) {
  call.db.execute(kPutSpec, ns_id, name, spec);
}

void put_account(Call& call, std::int64_t ns_id, const ScheduleRecord& schedule) {
  const std::string moved = pack_instants(schedule.moved.duplicates);
  call.db.execute(kPutAccount, ns_id, schedule.row.name, us(schedule.row.resolved_to), us(schedule.row.fired_to),
                  schedule.moved.id, maybe_bytes(moved), schedule.ticks);
}

}  // namespace fenceline::sqlite
