#include "backends/postgres/horizon.hpp"

#include <algorithm>

#include "backends/postgres/psql_line.hpp"
#include "backends/postgres/store_parts.hpp"
#include "base/duration_text.hpp"
#include "store/store_findings.hpp"

namespace fenceline::postgres {
namespace {

constexpr std::int64_t kTransactionsHeldMost = 1'000'000;

// A transaction here, one that was prepared, a slot, or a standby that asks for it. Those of other databases hold
// nothing of ours.
const Statement kHolder{R"sql(
  select to_jsonb(h) || jsonb_build_object('now', (extract(epoch from clock_timestamp()) * 1000000)::bigint) from (
    select 'transaction' as kind, a.pid::text as who,
           format('%s of %s (%s)', coalesce(a.state, 'a transaction'), coalesce(a.usename, '?'),
                  coalesce(nullif(a.application_name, ''), 'no name')) as what,
           (extract(epoch from a.xact_start) * 1000000)::bigint as since,
           greatest(age(a.backend_xmin), age(a.backend_xid)) as held
    from pg_stat_activity a
    where a.backend_type = 'client backend' and a.pid <> pg_backend_pid() and a.datname = current_database()
      and (a.backend_xmin is not null or a.backend_xid is not null)
    union all
    select 'prepared', p.gid, 'prepared transaction of ' || p.owner, (extract(epoch from p.prepared) * 1000000)::bigint,
           age(p.transaction)
    from pg_prepared_xacts p where p.database = current_database()
    union all
    select case when s.active then 'slot in use' else 'slot' end, s.slot_name, 'replication slot', null, age(s.xmin)
    from pg_replication_slots s where s.xmin is not null
    union all
    select 'standby', r.application_name, 'standby with hot_standby_feedback', null, age(r.backend_xmin)
    from pg_stat_replication r where r.backend_xmin is not null) as h
  order by h.held desc, h.since nulls last limit 1)sql"};

std::string remedy_for(const Dsn& dsn, const std::string& kind, const std::string& who) {
  if (kind == "transaction")
    return look_then(psql_line(dsn, {"select usename, application_name, client_addr, state, xact_start, left(query, "
                                     "200) as query from pg_stat_activity where pid = " +
                                     who}),
                     psql_line(dsn, {"select pg_terminate_backend(" + who + ")"}));
  if (kind == "prepared")
    return look_then(psql_line(dsn, {"select * from pg_prepared_xacts where gid = " + quoted_text(who)}),
                     psql_line(dsn, {"rollback prepared " + quoted_text(who)}));
  if (kind == "slot") return looks_at_and_drops_slot(dsn, who);
  return psql_line(dsn, {"select * from pg_stat_replication"});
}

}  // namespace

std::string looks_at_and_drops_slot(const Dsn& dsn, const std::string& name) {
  return look_then(psql_line(dsn, {"select * from pg_replication_slots where slot_name = " + quoted_text(name)}),
                   psql_line(dsn, {"select pg_drop_replication_slot(" + quoted_text(name) + ")"}));
}

Result<Finding> horizon_finding(Pool& pool, Duration held_most) {
  const Result<Rows> rows = pool.run(kHolder, {}, CallKind::look, kCallTimeout);
  if (!rows) return std::unexpected(rows.error());
  if (rows->size() == 0) return Finding{"held_horizon", FindingStatus::ok, "nothing holds it", ""};
  return decoded(pool.dsn(), [&]() -> Finding {
    const json holder = json::parse(rows->jsonb(0, 0));
    const std::optional<WallTime> since = optional_time_in(holder, "since");
    const Duration age = since ? std::max(time_in(holder, "now") - *since, Duration{0}) : Duration{0};
    const std::int64_t transactions = integer_in(holder, "held");
    const std::string who = text_in(holder, "who"), kind = text_in(holder, "kind");
    std::string detail = one_line(text_in(holder, "what")) + ", " + (kind == "transaction" ? "process " : "") +
                         one_line(who) + ", holds it";
    if (since) detail += " for " + format_duration(std::chrono::ceil<std::chrono::seconds>(age));
    detail += ", " + std::to_string(transactions) + (transactions == 1 ? " transaction back" : " transactions back");
    if (age < held_most && transactions < kTransactionsHeldMost) return {"held_horizon", FindingStatus::ok, detail, ""};
    return {"held_horizon",
            FindingStatus::warning,
            detail,
            remedy_for(pool.dsn(), kind, who),
            "rows that finished since then cannot be vacuumed: tables grow and claims become slow",
            since};
  });
}

}  // namespace fenceline::postgres
