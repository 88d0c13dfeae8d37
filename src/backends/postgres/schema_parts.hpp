// What the sources of the schema share.
#pragma once

#include <string>

#include "backends/postgres/schema.hpp"

namespace fenceline::postgres {

// A query for all that the schema has, a line each, as it is kept in meta.
std::string objects_sql(const std::string& schema);

Drift drift_between(const std::string& installed, const std::string& found);

}  // namespace fenceline::postgres
