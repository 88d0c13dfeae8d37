// For tests of migration: a schema as it was before some of its tables were there.
#pragma once

#include <sstream>
#include <string>

#include "backends/postgres/schema_parts.hpp"
#include "backends/postgres/testing.hpp"

namespace fenceline::test {

// Takes away what this file of sql/ and the later ones of its kind bring, and all functions that speak of it; `meta`
// says what it said then.
inline void set_back_to_before(TestSchema& schema, const std::string& first_file) {
  std::string names, drops;
  for (const postgres::SqlFile& file : postgres::schema_sql()) {
    if (file.name < first_file || !file.name.ends_with("_tables.sql")) continue;
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string create, kind, name;
      words >> create >> kind >> name;
      if (name.ends_with(';')) name.pop_back();
      if (create != "create" || (kind != "table" && kind != "type" && kind != "sequence")) continue;
      drops += "drop " + kind + " if exists " + name + " cascade; ";
      names += (names.empty() ? "" : "|") + name;
    }
  }
  schema.run(
      "do $$ declare f regprocedure; begin for f in select p.oid from pg_proc p where p.pronamespace = "
      "current_schema()::regnamespace and p.prorettype <> 'trigger'::regtype and p.prosrc ~ '\\m(" +
      names + ")\\M' loop execute format('drop function %s cascade', f); end loop; end $$; " + drops +
      "update meta set value = '" + postgres::tables_before(first_file) +
      "' where key = 'tables'; update meta set value = 'older' where key = 'functions'; "
      "update meta set value = (select string_agg(line, E'\n' order by line collate \"C\") from "
      "regexp_split_to_table(value, E'\n') as line where line !~ '^(column|index) (" +
      names + ")[._ ]') where key = 'objects'");
}

}  // namespace fenceline::test
