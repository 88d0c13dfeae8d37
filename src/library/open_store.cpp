#include "library/open_store.hpp"

#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {

Result<std::unique_ptr<Store>> open_store(Runtime& runtime, Log log, const OpenOptions& options) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (!options.url.starts_with(kSqlite) || options.url.size() == kSqlite.size() || options.url.find('\0') != std::string::npos)
    return fail(Code::invalid, "'" + options.url.substr(0, options.url.find(':') == std::string::npos ? 40 : options.url.find(':')) +
                                   "' is not a store that is known; use sqlite:PATH");
  Result<std::unique_ptr<SqliteStore>> store =
      SqliteStore::open(runtime, runtime, log,
                        {.path = options.url.substr(kSqlite.size()),
                         .may_create = options.may_create,
                         .accept_shared_fs = options.accept_shared_fs,
                         .synchronous = options.accept_no_sync ? SqliteSync::normal : SqliteSync::full,
                         .actor = options.actor});
  if (!store) return std::unexpected(store.error());
  return std::unique_ptr<Store>(std::move(*store));
}

}  // namespace fenceline
