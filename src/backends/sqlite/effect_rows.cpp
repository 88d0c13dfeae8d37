#include "backends/sqlite/effect_rows.hpp"

namespace fenceline::sqlite {
namespace {

// Columns as the schema has them: see read_effect().
constexpr const char* kFindEffect = "SELECT * FROM effect WHERE seq = ?1 AND name = ?2";
constexpr const char* kOfNamespace =
    "SELECT * FROM effect INDEXED BY effect_ns WHERE ns_id = ?1 AND number > ?2 ORDER BY number";
constexpr const char* kIntentsOfNamespace = R"sql(
  SELECT * FROM effect INDEXED BY effect_intent WHERE ns_id = ?1 AND state = 1 AND number > ?2 ORDER BY number)sql";
constexpr const char* kEffectsOfJob = "SELECT * FROM effect WHERE seq = ?1 AND number > ?2 ORDER BY number";

constexpr const char* kAddEffect = R"sql(
  INSERT INTO effect (ns_id, seq, name, state, held, policy, digest, fence, call, actor, doubts, began_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12))sql";
constexpr const char* kWrite = R"sql(
  UPDATE effect SET state = ?2, held = ?3, policy = ?4, digest = ?5, fence = ?6, call = ?7, actor = ?8, doubts = ?9,
    began_at = ?10, ended_at = ?11,
    exit_status = ?12, resolved_by = ?13, result = ?14 WHERE number = ?1)sql";
constexpr const char* kCountEffects = "SELECT count(*) FROM effect WHERE seq = ?1";
constexpr const char* kIntentOfJob = "SELECT 1 FROM effect WHERE seq = ?1 AND state = 1 LIMIT 1";
constexpr const char* kIntentIn =
    "SELECT 1 FROM effect INDEXED BY effect_intent WHERE ns_id = ?1 AND state = 1 LIMIT 1";
constexpr const char* kWaitedFor = "SELECT name FROM effect WHERE seq = ?1 AND held = 1 ORDER BY name";
constexpr const char* kWaitForNone = "UPDATE effect SET held = 0 WHERE seq = ?1 AND held = 1";

std::optional<std::int64_t> in_us(const std::optional<WallTime>& time) {
  return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
}

// A large result is not even read from the disk, if nobody asks for it.
EffectRow read_effect(const Rows& row, bool with_result) {
  EffectRow read{row.integer(0), row.integer(2), {}};
  Effect& effect = read.effect;
  effect.name = row.text(3);
  effect.state = static_cast<EffectState>(row.integer(4));
  effect.held = row.integer(5) != 0;
  effect.policy = static_cast<InDoubt>(row.integer(6));
  effect.digest = row.text(7);
  effect.fence = row.integer(8);
  effect.call = row.text(9);
  effect.actor = row.text(10);
  effect.doubts = row.integer(11);
  effect.began_at = wall_time(row.integer(12));
  if (!row.is_null(13)) effect.ended_at = wall_time(row.integer(13));
  if (!row.is_null(14)) effect.exit_status = static_cast<int>(row.integer(14));
  effect.resolved_by = row.text(15);
  if (with_result) effect.result = row.text(16);
  return read;
}

}  // namespace

std::optional<EffectRow> find_effect(Call& call, std::int64_t seq, const std::string& name) {
  auto row = call.db.query(kFindEffect, seq, name);
  return row.next() ? std::optional(read_effect(row, true)) : std::nullopt;
}

void each_effect(Call& call, const EffectSearch& search, const std::function<bool(EffectRow)>& visit) {
  auto rows = search.seq
                  ? call.db.query(kEffectsOfJob, *search.seq, search.after)
                  : call.db.query(search.intents ? kIntentsOfNamespace : kOfNamespace, search.ns_id, search.after);
  while (rows.next() && visit(read_effect(rows, search.with_result))) {
  }
}

void write_effect(Call& call, std::int64_t ns_id, const EffectRow& row) {
  const Effect& e = row.effect;
  const auto state = static_cast<int>(e.state);
  const auto policy = static_cast<int>(e.policy);
  const std::int64_t began_at = e.began_at.time_since_epoch().count();
  const int held = e.held ? 1 : 0;
  if (row.number == 0) {
    call.db.execute(kAddEffect, ns_id, row.seq, e.name, state, held, policy, Bytes{e.digest}, e.fence, e.call, e.actor,
                    e.doubts, began_at);
    return;
  }
  const auto status = e.exit_status ? std::optional<std::int64_t>(*e.exit_status) : std::nullopt;
  call.db.execute(kWrite, row.number, state, held, policy, Bytes{e.digest}, e.fence, e.call, e.actor, e.doubts,
                  began_at, in_us(e.ended_at), status, e.resolved_by, Bytes{e.result});
}

std::int64_t count_effects(Call& call, std::int64_t seq) { return call.db.number(kCountEffects, seq).value_or(0); }

bool has_intent(Call& call, std::int64_t seq) { return call.db.number(kIntentOfJob, seq).has_value(); }

bool some_intent_in(Call& call, std::int64_t ns_id) { return call.db.number(kIntentIn, ns_id).has_value(); }

std::vector<std::string> waited_for(Call& call, std::int64_t seq) {
  std::vector<std::string> names;
  auto rows = call.db.query(kWaitedFor, seq);
  while (rows.next()) names.push_back(rows.text(0));
  return names;
}

void wait_for_none(Call& call, std::int64_t seq) { call.db.execute(kWaitForNone, seq); }

bool is_in_doubt(Call& call, const Delivery& job, const Effect& effect) {
  if (effect.state != EffectState::intent) return false;
  const bool at_it = job.state == JobState::running && job.fence == effect.fence && job.lease_end > call.now_us();
  return !at_it;
}

}  // namespace fenceline::sqlite
