// The schema on the server: set up in one transaction, under a lock of its own, so that two who start at once make one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/postgres/pool.hpp"
#include "base/result.hpp"

namespace fenceline::postgres {

inline constexpr int kSchemaVersion = 1;

struct SqlFile {
  std::string_view name;
  std::string text;
};
// In their order. The source is made at build time.
std::vector<SqlFile> schema_sql();

// Makes sure that the schema is there and of this version. Errors: not_found (missing, and may_create is false), refused (newer,
// no rights, a standby), unavailable.
Result<void> prepare_schema(Pool& pool, bool may_create, const std::string& actor, Duration timeout);

// Whether functions, columns and indexes are those that were installed.
Result<bool> is_as_installed(Pool& pool, Duration timeout);

}  // namespace fenceline::postgres
