// The schema on the server: set up in one transaction, under a lock of its own, so that two who start at once make one.
// What was installed is kept in its table `meta`, so that what somebody changed or dropped since can be named, and
// functions put back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/postgres/pool.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace fenceline::postgres {

inline constexpr int kSchemaVersion = 1;

struct SqlFile {
  std::string_view name;
  std::string text;
};
// In their order. The source is made at build time.
std::vector<SqlFile> schema_sql();

// The statements `create function ...;` of a file, each from the first column of a line to the semicolon behind its
// body.
std::vector<std::string> functions_in(std::string_view sql);

struct SchemaWish {
  bool may_create = true;  // set up a missing one
  bool mends = false;      // put back functions that are not this program's
  std::string actor;       // for the trail
  Duration look{};         // for each question
  Duration change{};       // for setting up and mending, which a slow server needs longer for
};
// Makes sure that the schema is there and of this version. Errors: not_found (missing, and may_create is false),
// refused (newer, no rights, a standby; a table that only a backup brings back), unavailable.
Result<void> prepare_schema(Pool& pool, Log log, const SchemaWish& wish);

// What is not as it was installed, for people: "function claim is missing". Both empty: all is.
struct Drift {
  std::vector<std::string> functions;  // mending puts them back
  std::vector<std::string> others;     // columns and indexes
};
Result<Drift> drift_of(Pool& pool, Duration timeout);

// The first few of them.
std::string in_words(const std::vector<std::string>& things);

}  // namespace fenceline::postgres
