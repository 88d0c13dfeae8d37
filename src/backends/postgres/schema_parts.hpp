// What the sources of the schema share.
#pragma once

#include <string>
#include <string_view>

#include "backends/postgres/schema.hpp"

namespace fenceline::postgres {

// As a name (or, with ', as a text) in SQL.
std::string quoted(const std::string& name, char quote = '"');

// A query for all that the schema has, a line each, as it is kept in meta.
std::string objects_sql(const std::string& schema);

// What `meta` says of the tables of a store that was set up before this file was added.
std::string tables_before(std::string_view file);

Drift drift_between(const std::string& installed, const std::string& found);

}  // namespace fenceline::postgres
