// The rights that a role needs to enqueue and to work, and no more, as a script for psql.
#pragma once

#include <string>

#include "backends/postgres/dsn.hpp"
#include "base/result.hpp"

namespace fenceline::postgres {

// For `role` on the schema of the store. Errors: invalid (no name of a role).
Result<std::string> grants_for(const Dsn& dsn, const std::string& role);

}  // namespace fenceline::postgres
