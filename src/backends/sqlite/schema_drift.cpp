// Somebody may drop with another tool what we made.
#include <sqlite3.h>

#include <algorithm>
#include <map>

#include "backends/sqlite/schema.hpp"

namespace fenceline::sqlite {
namespace {

struct Part {
  std::string kind;
  std::string statement;
  std::string table;                 // of an index
  std::vector<std::string> columns;  // of a table
};
using Parts = std::map<std::string, Part>;

Parts parts_of(Database& db) {
  Parts parts;
  {
    auto rows = db.query(
        "SELECT name, type, sql, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL");
    while (rows.next()) parts[rows.text(0)] = {rows.text(1), rows.text(2), rows.text(3), {}};
  }
  auto rows =
      db.query("SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'");
  while (rows.next()) parts[rows.text(0)].columns.push_back(rows.text(1));
  return parts;
}

const Parts& own_parts() {
  static const Parts parts = [] {
    Database fresh(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX);
    make_tables(fresh);
    return parts_of(fresh);
  }();
  return parts;
}

}  // namespace

std::vector<MissingPart> missing_parts(Database& db) {
  const Parts found = parts_of(db);
  std::vector<MissingPart> missing;
  for (const auto& [name, own] : own_parts()) {
    const auto there = found.find(name);
    if (there == found.end()) {
      // With its table an index comes back too.
      if (own.kind == "table" || found.contains(own.table))
        missing.push_back({own.kind + " " + name + " is missing", own.statement});
      continue;
    }
    for (const std::string& column : own.columns) {
      if (std::ranges::find(there->second.columns, column) == there->second.columns.end())
        missing.push_back({"column " + name + "." + column + " is missing", ""});
    }
  }
  return missing;
}

}  // namespace fenceline::sqlite
