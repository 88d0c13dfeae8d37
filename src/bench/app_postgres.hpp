// Transactions of an application on PostgreSQL, each of which updates one row and commits, with and without a fence;
// straight on libpq.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace fenceline::bench {

enum class AppTransaction {
  plain,     // begin, update, commit
  guarded,   // the same with guard() before the update
  assigned,  // the update assigns the fence of a protected table
  acting,    // the table is protected and the update says nothing: act_as() before it
};

class AppTables {
 public:
  virtual ~AppTables() = default;
  virtual Result<void> once(AppTransaction kind) = 0;
};

// `url` is of a store that is there, `schema` where the application's tables shall be; the job is the resource of their
// rows. Errors: unavailable, with what the server said.
Result<std::unique_ptr<AppTables>> open_app_tables(const std::string& url, const std::string& schema,
                                                   const std::string& job, std::int64_t fence);

}  // namespace fenceline::bench
