#include "backends/postgres/schema.hpp"

#include <charconv>
#include <optional>

namespace fenceline::postgres {
namespace {

std::string quoted(const std::string& schema) { return "\"" + schema + "\""; }

// Functions by their bodies, tables by their columns, indexes by theirs. Nothing in it depends on who asks, nor on the tables that are protected.
std::string digest_sql(const std::string& schema) {
  const std::string of = "(select oid from pg_catalog.pg_namespace where nspname = '" + schema + "')";
  return "select pg_catalog.md5(pg_catalog.string_agg(line, ';' order by line collate \"C\")) from ("
         "select 'function ' || proname || ' ' || pronargs || ' ' || pg_catalog.md5(prosrc) || ' ' || coalesce(pg_catalog.array_to_string(proconfig, ','), '') "
         "from pg_catalog.pg_proc where proname !~ '^protects_[0-9]' and pronamespace = " + of +
         " union all select 'column ' || c.relname || '.' || a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull "
         "from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid "
         "where c.relnamespace = " + of + " and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped"
         " union all select 'index ' || c.relname || ' ' || i.indkey::text || ' ' || i.indisunique "
         "from pg_catalog.pg_class c join pg_catalog.pg_index i on i.indexrelid = c.oid where c.relnamespace = " + of + ") as lines (line)";
}

// Nothing: the schema is not there.
Result<std::optional<int>> version_of(Pool& pool, Duration timeout) {
  const Statement exists{"select to_regclass($1) is not null"};
  const Result<Rows> there = pool.run(exists, Params().text(quoted(pool.dsn().schema) + ".meta"), CallKind::look, timeout);
  if (!there) return std::unexpected(there.error());
  if (there->integer(0, 0) == 0) return std::nullopt;
  const Statement version{"select value from " + quoted(pool.dsn().schema) + ".meta where key = 'schema'"};
  const Result<Rows> rows = pool.run(version, {}, CallKind::look, timeout);
  if (!rows) return std::unexpected(rows.error());
  const std::string text = rows->size() == 1 ? rows->text(0, 0) : "";
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1)
    return fail(Code::refused, "the schema " + pool.dsn().schema + " of " + pool.dsn().shown + " is not one of fenceline; name another by ?schema=NAME");
  return number;
}

Result<void> check_version(const Pool& pool, int version) {
  if (version == kSchemaVersion) return {};
  return fail(Code::refused, pool.dsn().shown + " has schema version " + std::to_string(version) + ", and this program knows " + std::to_string(kSchemaVersion) +
                                 "; use a newer program");
}

// As one transaction of several scripts, on a connection that is given back only if it is whole.
Result<void> install(Pool& pool, const std::string& actor, Duration timeout) {
  const std::string schema = quoted(pool.dsn().schema);
  const std::string literal = "'" + pool.dsn().schema + "'";
  const std::int64_t limit = timeout.count() / 1000;
  std::vector<std::string> scripts{
      "begin; set local statement_timeout = " + std::to_string(limit) + "; set local client_min_messages = warning;"
      " select pg_catalog.pg_advisory_xact_lock(1179535168, pg_catalog.hashtext(" + literal + "))",
      "do $$ begin if pg_catalog.to_regclass('" + schema + ".meta') is not null then raise exception using errcode = '42P07', message = 'there already'; end if;"
      // A table of somebody else's may have a name of ours, and theirs is not ours to remove.
      " if exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = " + literal + ")"
      " then raise exception using errcode = 'FL002', message = 'the schema " + pool.dsn().schema + " holds tables of somebody else; name a new one: ?schema=NAME'; end if;"
      " if not exists (select from pg_catalog.pg_namespace where nspname = " + literal + ") then create schema " + schema + "; end if; end $$;"
      // Somebody's temporary tables come last: unnamed, they would come first.
      " set local search_path = " + schema + ", pg_catalog, pg_temp; set local check_function_bodies = off"};
  for (SqlFile& file : schema_sql()) scripts.push_back(std::move(file.text));
  scripts.push_back("insert into meta values ('schema', '" + std::to_string(kSchemaVersion) + "'), ('digest', (" + digest_sql(pool.dsn().schema) + "))");

  const Instant deadline = pool.runtime().now() + timeout;
  Result<std::unique_ptr<Connection>> taken = pool.take(deadline);
  if (!taken) return std::unexpected(taken.error());
  const auto failed = [&](const Reply& reply, bool may_be_committed) -> Result<void> {
    const bool is_over = reply.fate != Reply::Fate::refused;
    if (!is_over && (*taken)->script("rollback", deadline).fate == Reply::Fate::answered) pool.put_back(std::move(*taken));
    else pool.drop(std::move(*taken));
    // Another process has set it up while we waited for the lock.
    if (!is_over && reply.error.state == "42P07" && reply.error.message == "there already") return {};
    if (!is_over) return std::unexpected(error_of(reply.error, pool.dsn().shown));
    return std::unexpected(without_answer(may_be_committed ? CallKind::change : CallKind::look, pool.dsn().shown));
  };
  for (const std::string& script : scripts) {
    if (const Reply reply = (*taken)->script(script, deadline); reply.fate != Reply::Fate::answered) return failed(reply, false);
  }
  const Statement note{"insert into trail (ns, at, actor, act, subject, reason) values ('', (extract(epoch from clock_timestamp()) * 1000000)::bigint, $1, 'store_created', $2, '')"};
  Reply noted = (*taken)->call({{note, Params().text(actor).text("schema " + std::to_string(kSchemaVersion))}}, false, deadline);
  if (noted.fate != Reply::Fate::answered) return failed(noted, false);
  if (const Reply reply = (*taken)->script("commit", deadline); reply.fate != Reply::Fate::answered) return failed(reply, true);
  pool.put_back(std::move(*taken));
  return {};
}

}  // namespace

Result<void> prepare_schema(Pool& pool, bool may_create, const std::string& actor, Duration timeout) {
  Result<std::optional<int>> version = version_of(pool, timeout);
  if (!version) return std::unexpected(version.error());
  if (*version) return check_version(pool, **version);
  if (!may_create) return fail(Code::not_found, pool.dsn().shown + " is not set up; run: fenceline migrate");
  if (auto ok = install(pool, actor, timeout); !ok) return ok;
  version = version_of(pool, timeout);
  if (!version) return std::unexpected(version.error());
  if (!*version) return fail(Code::unavailable, pool.dsn().shown + " could not be set up; try again");
  return check_version(pool, **version);
}

Result<bool> is_as_installed(Pool& pool, Duration timeout) {
  const Statement compare{"select (" + digest_sql(pool.dsn().schema) + ") = value from " + quoted(pool.dsn().schema) + ".meta where key = 'digest'"};
  const Result<Rows> rows = pool.run(compare, {}, CallKind::look, timeout);
  if (!rows) return std::unexpected(rows.error());
  return rows->size() == 1 && rows->integer(0, 0) == 1;
}

}  // namespace fenceline::postgres
