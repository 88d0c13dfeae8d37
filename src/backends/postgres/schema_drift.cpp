// What the schema on the server has, beside what was installed.
#include <map>
#include <set>
#include <sstream>

#include "backends/postgres/schema.hpp"
#include "backends/postgres/schema_parts.hpp"

namespace fenceline::postgres {
namespace {

// "function claim_jobs" to "13 d41d8...": a thing and how it is. Functions of one name differ by their number of
// parameters.
using Things = std::multimap<std::string, std::string>;

Things things_in(const std::string& lines) {
  Things things;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::size_t name = line.find(' ');
    const std::size_t rest = name == std::string::npos ? name : line.find(' ', name + 1);
    if (rest != std::string::npos) things.emplace(line.substr(0, rest), line.substr(rest + 1));
  }
  return things;
}

std::multiset<std::string> all_of(const Things& things, const std::string& name) {
  std::multiset<std::string> out;
  for (auto [at, end] = things.equal_range(name); at != end; ++at) out.insert(at->second);
  return out;
}

}  // namespace

// Functions by their bodies, tables by their columns, indexes by theirs: a line each. Nothing in it depends on who
// asks, nor on the tables that are protected.
std::string objects_sql(const std::string& schema) {
  const std::string of = "(select oid from pg_catalog.pg_namespace where nspname = '" + schema + "')";
  return "select pg_catalog.string_agg(line, E'\\n' order by line collate \"C\") from ("
         "select 'function ' || proname || ' ' || pronargs || ' ' || pg_catalog.md5(prosrc) || ' ' || "
         "coalesce(pg_catalog.array_to_string(proconfig, ','), '') "
         "from pg_catalog.pg_proc where proname !~ '^protects_[0-9]' and pronamespace = " +
         of +
         " union all select 'column ' || c.relname || '.' || a.attname || ' ' || pg_catalog.format_type(a.atttypid, "
         "a.atttypmod) || ' ' || a.attnotnull "
         "from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid "
         "where c.relnamespace = " +
         of +
         " and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped"
         " union all select 'index ' || c.relname || ' ' || i.indkey::text || ' ' || i.indisunique "
         "from pg_catalog.pg_class c join pg_catalog.pg_index i on i.indexrelid = c.oid where c.relnamespace = " +
         of + ") as lines (line)";
}

Drift drift_between(const std::string& installed, const std::string& found) {
  const Things before = things_in(installed);
  const Things now = things_in(found);
  std::set<std::string> names;
  for (const Things* things : {&before, &now}) {
    for (const auto& [name, how] : *things) names.insert(name);
  }
  Drift drift;
  for (const std::string& name : names) {
    const std::multiset<std::string> was = all_of(before, name);
    const std::multiset<std::string> is = all_of(now, name);
    if (was == is) continue;
    const std::string what = is.size() < was.size()   ? " is missing"
                             : is.size() > was.size() ? " is not one of ours"
                                                      : " is not as it was installed";
    (name.starts_with("function ") ? drift.functions : drift.others).push_back(name + what);
  }
  return drift;
}

Result<Drift> drift_of(Pool& pool, Duration timeout) {
  const std::string schema = pool.dsn().schema;
  const Statement both{"select (" + objects_sql(schema) + "), (select value from \"" + schema +
                       "\".meta where key = 'objects')"};
  const Result<Rows> rows = pool.run(both, {}, CallKind::look, timeout);
  if (!rows) return std::unexpected(rows.error());
  return drift_between(rows->text(0, 1), rows->text(0, 0));
}

std::string in_words(const std::vector<std::string>& things) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < things.size() && i < kShown; ++i) text += (i > 0 ? ", " : "") + things[i];
  return things.size() > kShown ? text + " and " + std::to_string(things.size() - kShown) + " more" : text;
}

}  // namespace fenceline::postgres
