#include "backends/postgres/schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "backends/postgres/schema_parts.hpp"
#include "base/sha256.hpp"

namespace fenceline::postgres {
namespace {

// Nothing: the schema is not there.
Result<std::optional<int>> version_of(Pool& pool, Duration timeout) {
  const Statement exists{"select to_regclass($1) is not null"};
  const Result<Rows> there =
      pool.run(exists, Params().text(quoted(pool.dsn().schema) + ".meta"), CallKind::look, timeout);
  if (!there) return std::unexpected(there.error());
  if (there->integer(0, 0) == 0) return std::nullopt;
  const Statement version{"select value from " + quoted(pool.dsn().schema) + ".meta where key = 'schema'"};
  const Result<Rows> rows = pool.run(version, {}, CallKind::look, timeout);
  if (!rows) return std::unexpected(rows.error());
  const std::string text = rows->size() == 1 ? rows->text(0, 0) : "";
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1)
    return fail(Code::refused, "the schema " + pool.dsn().schema + " of " + pool.dsn().shown +
                                   " is not fenceline's; name another with ?schema=NAME");
  return number;
}

Result<void> check_version(const Pool& pool, int version) {
  if (version == kSchemaVersion) return {};
  return fail(Code::refused, pool.dsn().shown + " has schema version " + std::to_string(version) +
                                 ", and this program knows " + std::to_string(kSchemaVersion) +
                                 "; use a newer fenceline");
}

// What came after the first stores were set up, in the order in which it came: `migrate` adds it to those that have all
// that was before it.
struct Added {
  std::string_view file;
  std::string_view what;
};
constexpr std::array kAdded{Added{"12_lock_tables.sql", "locks"}, Added{"14_schedule_tables.sql", "schedules"},
                            Added{"16_pipeline_tables.sql", "pipelines"},
                            Added{"17_lease_tables.sql", "lengths of leases"}};

std::size_t place_in_added(std::string_view file) {
  return static_cast<std::size_t>(std::ranges::find(kAdded, file, &Added::file) - kAdded.begin());
}

// What this program would install: functions, and all else. Comments and empty lines are no part of it.
struct Source {
  std::string functions;
  std::string tables;
  std::array<std::string, kAdded.size()> tables_before;  // each of what was added
};
const Source& own_source() {
  static const Source source = [] {
    std::string functions;
    std::string rest;
    std::array<std::string, kAdded.size()> before;
    for (const SqlFile& file : schema_sql()) {
      std::string text = "\n" + file.text;
      for (const std::string& function : functions_in(file.text)) {
        functions += function;
        text.erase(text.find("\n" + function) + 1, function.size());
      }
      for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (line.empty() || line.starts_with("--")) continue;
        rest += line + "\n";
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (const std::size_t added = place_in_added(file.name); added == kAdded.size() || added < i)
            before[i] += line + "\n";
        }
      }
    }
    for (std::string& text : before) text = sha256_hex(text);
    return Source{sha256_hex(functions), sha256_hex(rest), std::move(before)};
  }();
  return source;
}

std::string meta_sql(const std::string& schema) {
  return "insert into meta values ('schema', '" + std::to_string(kSchemaVersion) + "'), ('functions', '" +
         own_source().functions + "'), ('tables', '" + own_source().tables + "'), ('objects', (" + objects_sql(schema) +
         ")) on conflict (key) do update set value = excluded.value";
}

// One who changes the schema at a time, in one transaction of several scripts. Somebody's temporary tables come last:
// unnamed, they would come first.
std::string begin_sql(const std::string& schema, Duration timeout) {
  return "begin; set local statement_timeout = " + std::to_string(timeout.count() / 1000) +
         "; set local client_min_messages = warning;"
         " select pg_catalog.pg_advisory_xact_lock(1179535168, pg_catalog.hashtext('" +
         schema + "'))";
}
std::string path_sql(const std::string& schema) {
  return "set local search_path = " + quoted(schema) + ", pg_catalog, pg_temp; set local check_function_bodies = off";
}

// Runs them, notes the act in the trail and commits, on a connection that is given back only if it is whole. False: the
// scripts found it there already.
Result<bool> change_schema(Pool& pool, const std::vector<std::string>& scripts, const std::string& actor,
                           const std::string& act, const std::string& subject, Duration timeout) {
  const Instant deadline = pool.runtime().now() + timeout;
  Result<std::unique_ptr<Connection>> taken = pool.take(deadline);
  if (!taken) return std::unexpected(taken.error());
  const auto failed = [&](const Reply& reply, bool may_be_committed) -> Result<bool> {
    const bool is_over = reply.fate != Reply::Fate::refused;
    if (!is_over && (*taken)->script("rollback", deadline).fate == Reply::Fate::answered)
      pool.put_back(std::move(*taken));
    else pool.drop(std::move(*taken));
    // Another process has set it up while we waited for the lock.
    if (!is_over && reply.error.state == "42P07" && reply.error.message == "there already") return false;
    if (!is_over) return std::unexpected(error_of(reply.error, pool.dsn().shown));
    return std::unexpected(without_answer(may_be_committed ? CallKind::change : CallKind::look, pool.dsn().shown));
  };
  for (const std::string& script : scripts) {
    if (const Reply reply = (*taken)->script(script, deadline); reply.fate != Reply::Fate::answered)
      return failed(reply, false);
  }
  const Statement note{
      "insert into trail (ns, at, actor, act, subject, reason) values ('', (extract(epoch from clock_timestamp()) * "
      "1000000)::bigint, $1, $2, $3, '')"};
  const Reply noted = (*taken)->call({{note, Params().text(actor).text(act).text(subject)}}, false, deadline);
  if (noted.fate != Reply::Fate::answered) return failed(noted, false);
  if (const Reply reply = (*taken)->script("commit", deadline); reply.fate != Reply::Fate::answered)
    return failed(reply, true);
  pool.put_back(std::move(*taken));
  return true;
}

Result<void> install(Pool& pool, const std::string& actor, Duration timeout) {
  const std::string schema = quoted(pool.dsn().schema);
  const std::string literal = "'" + pool.dsn().schema + "'";
  std::vector<std::string> scripts{
      begin_sql(pool.dsn().schema, timeout),
      "do $$ begin if pg_catalog.to_regclass('" + schema +
          ".meta') is not null then raise exception using errcode = '42P07', message = 'there already'; end if;"
          // A table of somebody else's may have a name of ours, and theirs is not ours to remove.
          " if exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
          "where n.nspname = " +
          literal +
          ")"
          " then raise exception using errcode = 'FL002', message = 'the schema " +
          pool.dsn().schema +
          " contains other tables; name a new schema with ?schema=NAME'; end if;"
          " if not exists (select from pg_catalog.pg_namespace where nspname = " +
          literal + ") then create schema " + schema +
          "; end if; end $$;"
          " " +
          path_sql(pool.dsn().schema)};
  for (SqlFile& file : schema_sql()) scripts.push_back(std::move(file.text));
  scripts.push_back(meta_sql(pool.dsn().schema));
  const Result<bool> made =
      change_schema(pool, scripts, actor, "store_created", "schema " + std::to_string(kSchemaVersion), timeout);
  return made ? Result<void>{} : std::unexpected(made.error());
}

// Puts this program's functions back where they are missing or others. What tables have lost only a backup brings back.
Result<void> mend(Pool& pool, Log log, const SchemaWish& wish) {
  const std::string& schema = pool.dsn().schema;
  const Statement source{"select (select value from " + quoted(schema) +
                         ".meta where key = 'functions'), (select value from " + quoted(schema) +
                         ".meta where key = 'tables')"};
  const Result<Rows> known = pool.run(source, {}, CallKind::look, wish.look);
  if (!known) return std::unexpected(known.error());
  const auto& before = own_source().tables_before;
  const auto missing = static_cast<std::size_t>(std::ranges::find(before, known->text(0, 1)) - before.begin());
  const bool adds = missing < kAdded.size();
  if (known->text(0, 1) != own_source().tables && !adds)
    return fail(Code::refused, "the tables of " + pool.dsn().shown + " are from another build of version " +
                                   std::to_string(kSchemaVersion) +
                                   "; use that build, or set up a new schema with ?schema=NAME");
  const Result<Drift> drift = drift_of(pool, wish.look);
  if (!drift) return std::unexpected(drift.error());
  if (!drift->others.empty())
    return fail(Code::refused,
                pool.dsn().shown + ": " + in_words(drift->others) + "; restore the schema from a backup");
  const bool same = !adds && known->text(0, 0) == own_source().functions;
  if (same && drift->functions.empty()) return {};
  std::vector<std::string> scripts{begin_sql(schema, wish.change), path_sql(schema)};
  for (SqlFile& file : schema_sql()) {
    std::string script;
    if (const std::size_t added = place_in_added(file.name); added >= missing && added < kAdded.size())
      script = file.text + "\n";
    for (const std::string& function : functions_in(file.text))
      script += "create or replace" + function.substr(std::string_view("create").size()) + "\n";
    // One that was made anew is everybody's to call, until it is taken from them.
    if (file.name.ends_with("_rights.sql")) script += file.text;
    if (!script.empty()) scripts.push_back(std::move(script));
  }
  // Of the same program: what it does not bring back is somebody else's.
  if (!same) scripts.push_back(meta_sql(schema));
  std::string tables;
  for (std::size_t i = missing; i < kAdded.size(); ++i) tables += "tables of " + std::string(kAdded[i].what) + ", ";
  const std::string what = same   ? in_words(drift->functions)
                           : adds ? tables + "and functions"
                                  : "functions from another build";
  const Result<bool> mended = change_schema(pool, scripts, wish.actor, "store_mended", what, wish.change);
  if (!mended) return std::unexpected(mended.error());
  log.warn("store_mended", {{"what", what}});
  const Result<Drift> left = drift_of(pool, wish.look);
  if (!left) return std::unexpected(left.error());
  if (!left->functions.empty())
    return fail(Code::refused, pool.dsn().shown + ": " + in_words(left->functions) +
                                   "; drop what is not fenceline's, then run: fenceline migrate");
  return {};
}

}  // namespace

std::string quoted(const std::string& name, char quote) {
  std::string out(1, quote);
  for (const char c : name) out += c == quote ? std::string(2, quote) : std::string(1, c);
  return out + quote;
}

std::string tables_before(std::string_view file) { return own_source().tables_before.at(place_in_added(file)); }

std::vector<std::string> functions_in(std::string_view sql) {
  constexpr std::string_view kBegin = "create function ";
  std::vector<std::string> functions;
  for (std::size_t at = sql.find(kBegin); at != std::string_view::npos; at = sql.find(kBegin, at + 1)) {
    if (at > 0 && sql[at - 1] != '\n') continue;  // one inside another's body
    const std::size_t open = sql.find('$', at);
    const std::string_view quote = sql.substr(open, sql.find('$', open + 1) + 1 - open);
    const std::size_t end = sql.find(';', sql.find(quote, open + quote.size()));
    functions.emplace_back(sql.substr(at, end + 1 - at));
    at = end;
  }
  return functions;
}

Result<void> prepare_schema(Pool& pool, Log log, const SchemaWish& wish) {
  Result<std::optional<int>> version = version_of(pool, wish.look);
  if (!version) return std::unexpected(version.error());
  if (*version) {
    const Result<void> known = check_version(pool, **version);
    return known && wish.mends ? mend(pool, log, wish) : known;
  }
  if (!wish.may_create) return fail(Code::not_found, pool.dsn().shown + " is not set up; run: fenceline migrate");
  if (auto ok = install(pool, wish.actor, wish.change); !ok) return ok;
  version = version_of(pool, wish.look);
  if (!version) return std::unexpected(version.error());
  if (!*version) return fail(Code::unavailable, pool.dsn().shown + " could not be set up; try again");
  return check_version(pool, **version);
}

}  // namespace fenceline::postgres
