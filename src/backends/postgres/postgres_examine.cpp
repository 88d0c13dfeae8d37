// What a PostgresStore says of itself: its class with reasons, and what `fenceline doctor` looks at. Nothing here
// counts the rows of a large table.
#include <algorithm>
#include <array>

#include "backends/postgres/horizon.hpp"
#include "backends/postgres/pooler.hpp"
#include "backends/postgres/psql_line.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/store_parts.hpp"
#include "store/store_findings.hpp"

namespace fenceline {
namespace postgres {

Result<StoreProfile> profile_of(Pool& pool, Duration timeout) {
  const Statement settings{
      "select current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'), "
      "current_setting('synchronous_standby_names'), pg_is_in_recovery(), current_setting('server_encoding')"};
  const Result<Rows> rows = pool.run(settings, {}, CallKind::look, timeout);
  if (!rows) return std::unexpected(rows.error());
  if (rows->integer(0, 4) != 0)
    return fail(Code::refused, pool.dsn().shown + " is a standby and read-only; name the primary");
  if (const std::string encoding = rows->text(0, 5); encoding != "UTF8")
    return fail(Code::refused, "the database of " + pool.dsn().shown + " is in " + encoding +
                                   ", which cannot keep every text; make one with createdb -E UTF8 -T template0");
  const std::string commit = rows->text(0, 2);
  const bool replicated = !rows->text(0, 3).empty() && (commit == "on" || commit == "remote_apply");
  if (replicated) pool.waits_for_a_standby();
  StoreProfile profile{"postgres", pool.dsn().shown, GuaranteeClass::b, {}};
  const bool torn = rows->text(0, 0) == "off" || rows->text(0, 1) == "off";
  if (torn)
    profile.reasons.push_back("fsync or full_page_writes is off: a crash of the server's machine may lose everything");
  if (commit == "off") profile.reasons.push_back("synchronous_commit=off: a server crash loses the last commits");
  if (torn || commit == "off") {
    profile.guarantee = GuaranteeClass::c;
    return profile;
  }
  if (rows->text(0, 3).empty() || commit == "local") {
    profile.reasons.push_back("synchronous_commit=" + commit +
                              ": a commit is on the server's disk before it is acknowledged");
  } else if (replicated) {
    profile.guarantee = GuaranteeClass::a;
    profile.reasons.push_back("synchronous_standby_names is set and synchronous_commit=" + commit +
                              ": a commit is on a standby's disk too before it is acknowledged");
  } else {
    profile.reasons.push_back("synchronous_commit=" + commit +
                              ": a standby has a commit in memory, and the server on disk, before it is acknowledged");
  }
  return profile;
}

namespace {

constexpr Duration kHorizonHeldMost = std::chrono::minutes{5};
constexpr std::int64_t kDepthRowsMost = 200'000;
constexpr int kPings = 5;

const std::string kNow = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

// What the server must keep of its log, and for whom.
const std::string kSlot = R"sql((
  select jsonb_build_object('name', s.slot_name, 'in_use', s.active,
                            'bytes', pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint)
  from pg_replication_slots s where s.restart_lsn is not null order by s.restart_lsn limit 1))sql";

std::string facts_sql(const std::string& schema) {
  const auto setting = [](const std::string& name) {
    return "'" + name + "', current_setting('" + name + "'), '" + name +
           "_from', (select source from pg_settings where name = '" + name + "'), ";
  };
  return "select jsonb_build_object('number', current_setting('server_version_num')::bigint, 'version', "
         "current_setting('server_version'), " +
         setting("default_transaction_read_only") + setting("fsync") + setting("full_page_writes") +
         setting("synchronous_commit") + setting("autovacuum") + setting("track_counts") +
         "'database', current_database(), "
         "'frozen', (select age(datfrozenxid) from pg_database where datname = current_database()), "
         "'connections', (select count(*) from pg_stat_activity where backend_type = 'client backend'), "
         "'connections_most', current_setting('max_connections')::bigint - "
         "current_setting('superuser_reserved_connections')::bigint, 'max_connections', "
         "current_setting('max_connections')::bigint, "
         "'floor', (select count(*) from \"" +
         schema +
         "\".floor where value between 0 and 9007199254740991), "
         "'depths', (select count(*) from (select from \"" +
         schema + "\".depth limit " + std::to_string(kDepthRowsMost) +
         ") as d), "
         "'max_wal', pg_size_bytes(current_setting('max_wal_size')), 'wal_kept', "
         "pg_size_bytes(current_setting('wal_keep_size')), 'slot', " +
         kSlot +
         ", "
         "'may_list_wal', has_function_privilege('pg_ls_waldir()', 'execute'), "
         "'archive_failed', (select (extract(epoch from last_failed_time) * 1000000)::bigint from pg_stat_archiver "
         "where last_failed_time > coalesce(last_archived_time, '-infinity')), "
         "'archived', (select (extract(epoch from last_archived_time) * 1000000)::bigint from pg_stat_archiver))";
}

Finding version_finding(const json& facts) {
  const std::int64_t number = integer_in(facts, "number");
  if (number >= 150'000) return {"version", FindingStatus::ok, text_in(facts, "version"), ""};
  return {"version", FindingStatus::bad, text_in(facts, "version"),
          "pg_upgradecluster " + std::to_string(number / 10'000) + " main",
          "the functions of the schema need PostgreSQL 15"};
}

// A setting of a role in a database wins over all others but what a connection itself asks for.
std::string set_for_role(const Dsn& dsn, const json& facts, const std::string& name, const std::string& value) {
  if (text_in(facts, (name + "_from").c_str()) == "client")
    return "unset PGOPTIONS, or take options=... out of the store's URL";
  const std::string role =
      "alter role current_user in database " + quoted_name(text_in(facts, "database")) + " set " + name + " = " + value;
  return psql_line(dsn, {"set default_transaction_read_only = off", role});
}

std::string set_for_server(const Dsn& dsn, const std::vector<std::string>& names) {
  std::vector<std::string> lines;
  for (const std::string& name : names) lines.push_back("alter system set " + name + " = on");
  lines.emplace_back("select pg_reload_conf()");
  return psql_line(dsn, lines);
}

Finding writes_finding(const Dsn& dsn, const json& facts) {
  if (text_in(facts, "default_transaction_read_only") != "on")
    return {"writes", FindingStatus::ok, "this role may", ""};
  return {"writes", FindingStatus::bad, "default_transaction_read_only=on",
          set_for_role(dsn, facts, "default_transaction_read_only", "off"),
          "nothing can be enqueued, claimed or settled"};
}

Finding durability_finding(const Dsn& dsn, const json& facts) {
  for (const char* name : {"fsync", "full_page_writes"}) {
    if (text_in(facts, name) == "off")
      return {"durability", FindingStatus::bad, std::string(name) + "=off",
              set_for_server(dsn, {"fsync", "full_page_writes"}),
              "a power cut at the server can leave the database unreadable"};
  }
  return {"durability", FindingStatus::ok, "fsync=on", ""};
}

Finding commit_finding(const Dsn& dsn, const json& facts) {
  const std::string value = text_in(facts, "synchronous_commit");
  if (value != "off") return {"synchronous_commit", FindingStatus::ok, value, ""};
  return {"synchronous_commit", FindingStatus::warning, "off", set_for_role(dsn, facts, "synchronous_commit", "on"),
          "a server crash loses the last commits, though they were acknowledged"};
}

Finding autovacuum_finding(const Dsn& dsn, const json& facts) {
  for (const char* name : {"autovacuum", "track_counts"}) {
    if (text_in(facts, name) == "off")
      return {"autovacuum", FindingStatus::bad, std::string(name) + "=off: it never runs",
              set_for_server(dsn, {"autovacuum", "track_counts"}), "tables grow with every job and claims become slow"};
  }
  return {"autovacuum", FindingStatus::ok, "on", ""};
}

Finding frozen_finding(const Dsn& dsn, const json& facts) {
  const std::int64_t age = integer_in(facts, "frozen");
  const std::string detail = std::to_string(age) + " since the oldest that is not frozen";
  if (age < 1'000'000'000) return {"transaction_ids", FindingStatus::ok, detail, ""};
  return {"transaction_ids", age < 1'800'000'000 ? FindingStatus::warning : FindingStatus::bad, detail,
          psql_line(dsn, {"vacuum freeze"}), "at two billion the server stops accepting writes"};
}

Finding connections_finding(const Dsn& dsn, const json& facts) {
  const std::int64_t there = integer_in(facts, "connections"), most = integer_in(facts, "connections_most");
  const std::string detail = std::to_string(there) + " of " + std::to_string(most);
  if (there * 10 < most * 9) return {"connections", FindingStatus::ok, detail, ""};
  const std::string raise =
      "alter system set max_connections = " + std::to_string(integer_in(facts, "max_connections") * 2);
  return {"connections", FindingStatus::warning, detail,
          look_then(psql_line(dsn, {"select usename, application_name, state, count(*) from pg_stat_activity group by "
                                    "1, 2, 3 order by 4 desc"}),
                    psql_line(dsn, {raise}) + " && sudo systemctl restart postgresql"),
          "a worker that starts or reconnects is turned away, and its leases expire; a pooler "
          "(?pooler=transaction) needs fewer"};
}

Finding meta_finding(const json& facts) {
  if (integer_in(facts, "floor") == 1) return {"meta", FindingStatus::ok, "the floor is present and in range", ""};
  return {"meta", FindingStatus::bad, "the floor is missing or out of range", kRestoreSteps,
          "no lease can be granted, since every fence is above the floor"};
}

Finding depths_finding(const json& facts) {
  const std::int64_t rows = integer_in(facts, "depths");
  if (rows < kDepthRowsMost) return {"depths", FindingStatus::ok, std::to_string(rows) + " rows to add up", ""};
  return {"depths", FindingStatus::warning, std::to_string(rows) + " rows to add up, or more",
          "fenceline work QUEUE -- CMD", "every query for queue depths adds them up again, until a worker folds them"};
}

// `listed`: the bytes of the files, if this role may know.
Finding wal_finding(const Dsn& dsn, const json& facts, std::optional<std::int64_t> listed) {
  const std::int64_t usual = 2 * integer_in(facts, "max_wal") + integer_in(facts, "wal_kept");
  const json slot = facts.value("slot", json());
  const std::int64_t kept = integer_in(slot, "bytes");
  const std::string size = listed ? in_units(*listed) + " of WAL" : "this role may not see how much WAL there is";
  const std::string why = "when the server's disk is full, it accepts no more writes";
  if (kept > usual) {
    const std::string name = text_in(slot, "name");
    return {"wal_size", FindingStatus::warning,
            size + "; replication slot " + name +
                (flag_in(slot, "in_use") ? " is behind by " : ", which is unused, keeps ") + in_units(kept),
            flag_in(slot, "in_use") ? psql_line(dsn, {"select * from pg_stat_replication"})
                                    : looks_at_and_drops_slot(dsn, name),
            why};
  }
  if (const std::optional<WallTime> failed = optional_time_in(facts, "archive_failed"))
    return {"wal_size",
            FindingStatus::warning,
            size + "; archive_command fails, so all WAL since then is kept",
            psql_line(dsn, {"select * from pg_stat_archiver"}),
            why,
            optional_time_in(facts, "archived")};
  if (listed.value_or(0) > 2 * usual)
    return {"wal_size", FindingStatus::warning, size + ", more than max_wal_size", psql_line(dsn, {"checkpoint"}), why};
  return {"wal_size", FindingStatus::ok, size, ""};
}

// `looked`: a Pooler, or less than 0.
Finding pooler_finding(const Dsn& dsn, int looked, bool found_shared) {
  if (looked < 0) return {"pooler", FindingStatus::ok, "not known: no further connection could be opened", ""};
  const auto pooler = static_cast<Pooler>(looked);
  const std::string cost =
      "workers are not woken and poll for work, locks are polled each second, and each call "
      "is planned again";
  if (dsn.pooled) return {"pooler", FindingStatus::ok, "in transaction mode, as the URL says: " + cost, ""};
  if (pooler != Pooler::transaction && !found_shared)
    return {"pooler", FindingStatus::ok,
            pooler == Pooler::none ? "none" : "in session mode: one session for each client, as without a pooler", ""};
  return {"pooler", FindingStatus::warning, "in transaction mode, and the URL does not say so",
          "export FENCELINE_STORE=" + shell_word(dsn.shown + "&pooler=transaction"),
          "wake-ups get lost, so jobs and locks wait longer than needed, and calls meet prepared statements "
          "of others"};
}

// The statement that brings an index back, if we know it.
std::optional<std::string> index_statement(const std::string& drifted) {
  constexpr std::string_view kBegin = "index ", kEnd = " is missing";
  if (!drifted.starts_with(kBegin) || !drifted.ends_with(kEnd)) return std::nullopt;
  const std::string name = drifted.substr(kBegin.size(), drifted.size() - kBegin.size() - kEnd.size());
  for (const SqlFile& file : schema_sql()) {
    for (const char* create : {"\ncreate index ", "\ncreate unique index "}) {
      const std::size_t at = file.text.find(create + name + " on ");
      if (at != std::string::npos) return file.text.substr(at + 1, file.text.find(';', at) - at - 1);
    }
  }
  return std::nullopt;
}

Finding schema_finding(const Dsn& dsn, const Drift& drift) {
  const std::string why = "calls to the store fail, become slow, or behave in unspecified ways";
  if (drift.others.empty() && drift.functions.empty())
    return {"schema", FindingStatus::ok, "as version " + std::to_string(kSchemaVersion) + " installed it", ""};
  if (drift.others.empty()) return {"schema", FindingStatus::bad, in_words(drift.functions), "fenceline migrate", why};
  std::vector<std::string> lines{"set search_path = " + quoted_name(dsn.schema)};
  for (const std::string& thing : drift.others) {
    const std::optional<std::string> statement = index_statement(thing);
    if (!statement) return {"schema", FindingStatus::bad, in_words(drift.others), kRestoreSteps, why};
    lines.push_back(*statement);
  }
  return {"schema", FindingStatus::bad, in_words(drift.others), psql_line(dsn, lines), why};
}

// What a function of the schema says, for one that this role may not call: nothing.
Result<Finding> said_by(Pool& pool, const std::string& name, const std::string& function, const std::string& why) {
  const Result<Rows> rows =
      pool.run(Statement("select \"" + pool.dsn().schema + "\"." + function + "()"), {}, CallKind::look, kCallTimeout);
  if (!rows && rows.error().code == Code::denied)
    return Finding{name, FindingStatus::ok, "not known: this role may not see it", ""};
  if (!rows) return std::unexpected(rows.error());
  return decoded(pool.dsn(), [&] {
    const json found = json::parse(rows->jsonb(0, 0));
    Finding finding{name, static_cast<FindingStatus>(integer_in(found, "status")), text_in(found, "detail"),
                    text_in(found, "remedy")};
    if (finding.status != FindingStatus::ok) finding.why = why;
    if (finding.remedy.starts_with("alter table ")) finding.remedy = psql_line(pool.dsn(), {finding.remedy});
    return finding;
  });
}

std::string remedy_of(const std::vector<Finding>& findings, const std::string& name) {
  return std::ranges::find(findings, name, &Finding::name)->remedy;
}

}  // namespace
}  // namespace postgres

using namespace postgres;

StoreProfile PostgresStore::profile() const { return parts_->profile; }

Result<std::vector<Finding>> PostgresStore::examine() {
  Pool& pool = parts_->pool;
  Runtime& runtime = pool.runtime();
  const Dsn& dsn = pool.dsn();
  const Statement ping{"select " + kNow};
  std::vector<Duration> took;
  std::optional<Finding> clock;
  for (int i = 0; i < kPings; ++i) {
    const Instant began = runtime.now();
    const WallTime asked = runtime.wall_now();
    const Result<Rows> rows = pool.run(ping, {}, CallKind::look, kCallTimeout);
    if (!rows) return std::unexpected(rows.error());
    took.push_back(runtime.now() - began);
    clock =
        clock_finding(WallTime{Duration{rows->integer(0, 0)}}, asked, runtime.wall_now(), "timedatectl set-ntp true");
  }
  const Result<Rows> looked = pool.run(Statement(facts_sql(dsn.schema)), {}, CallKind::look, kCallTimeout);
  if (!looked) return std::unexpected(looked.error());
  const Result<json> facts = decoded(dsn, [&] { return json::parse(looked->jsonb(0, 0)); });
  if (!facts) return std::unexpected(facts.error());
  std::optional<std::int64_t> wal;
  if (flag_in(*facts, "may_list_wal")) {
    const Result<Rows> listed = pool.run(Statement("select coalesce(sum(size), 0)::bigint from pg_ls_waldir()"), {},
                                         CallKind::look, kCallTimeout);
    if (!listed) return std::unexpected(listed.error());
    wal = listed->integer(0, 0);
  }
  if (parts_->pooler < 0) {
    // Where no connection is to be had any more, all else is worth knowing all the same.
    const Result<Pooler> pooler = dsn.pooled ? Pooler::transaction : pooler_before(runtime, dsn, kCallTimeout);
    if (pooler) parts_->pooler = static_cast<int>(*pooler);
  }
  const Result<Finding> horizon = horizon_finding(pool, kHorizonHeldMost);
  if (!horizon) return std::unexpected(horizon.error());
  const Result<Drift> drift = drift_of(pool, kCallTimeout);
  if (!drift) return std::unexpected(drift.error());
  const Result<StoreProfile> profile = profile_of(pool, kCallTimeout);
  if (!profile) return std::unexpected(profile.error());

  Result<std::vector<Finding>> findings = decoded(dsn, [&] {
    return std::vector<Finding>{version_finding(*facts),
                                *clock,
                                round_trip_finding(took, "ping -c 5 " + shell_word(host_of(dsn))),
                                writes_finding(dsn, *facts),
                                durability_finding(dsn, *facts),
                                commit_finding(dsn, *facts),
                                pooler_finding(dsn, parts_->pooler, pool.found_sessions_shared()),
                                autovacuum_finding(dsn, *facts),
                                *horizon,
                                wal_finding(dsn, *facts, wal),
                                frozen_finding(dsn, *facts),
                                connections_finding(dsn, *facts),
                                meta_finding(*facts),
                                depths_finding(*facts),
                                schema_finding(dsn, *drift)};
  });
  if (!findings) return findings;
  const std::string durability = remedy_of(*findings, "durability");
  findings->insert(findings->begin(),
                   class_finding(*profile, parts_->profile,
                                 durability.empty() ? remedy_of(*findings, "synchronous_commit") : durability));
  for (const auto& [name, function, why] :
       {std::array{"schedules", "schedules_finding", "they do not fire until the clock gets there"},
        std::array{"guards", "guards_finding", "a stale holder can write to the table unnoticed"}}) {
    Result<Finding> said = said_by(pool, name, function, why);
    if (!said) return std::unexpected(said.error());
    findings->push_back(std::move(*said));
  }
  return findings;
}

}  // namespace fenceline
