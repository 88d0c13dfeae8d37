#include "session/open_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "backends/postgres/dsn.hpp"
#include "backends/postgres/postgres_store.hpp"
#include "backends/redis/redis_address.hpp"
#include "backends/redis/redis_store.hpp"
#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

// What may be shown of a URL that is not understood: it could hold a secret after its scheme.
std::string scheme_of(std::string_view url) {
  // As far as a scheme or the name of a file goes: "host=db password=x" is shown as "host".
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._/";
  return std::string(url.substr(0, std::min<std::size_t>(url.find_first_not_of(kOfNames), 40)));
}

}  // namespace

Result<void> check_store_url(std::string_view url) {
  if (postgres::is_postgres_url(url)) {
    const Result<postgres::Dsn> dsn = postgres::parse_dsn(url);
    return dsn ? Result<void>{} : std::unexpected(dsn.error());
  }
  if (redis::is_redis_url(url)) {
    const Result<redis::Address> address = redis::parse_address(url);
    return address ? Result<void>{} : std::unexpected(address.error());
  }
  if (!url.starts_with(kSqlite))
    return fail(
        Code::invalid,
        "unknown kind of store '" + scheme_of(url) +
            "'; use sqlite:PATH, postgres://USER@HOST:PORT/DATABASE, redis://HOST:PORT or unix:/PATH (a Redis socket)");
  const std::string_view path = url.substr(kSqlite.size());
  if (path.empty()) return fail(Code::invalid, "the store 'sqlite:' names no file; use sqlite:PATH");
  if (path == ":memory:")
    return fail(Code::invalid, "the store 'sqlite::memory:' would be lost with this process; use sqlite:PATH");
  if (path.find('\0') != std::string_view::npos)
    return fail(Code::invalid, "the store's path contains a NUL byte; use sqlite:PATH");
  return {};
}

bool is_on_a_server(std::string_view url) { return postgres::is_postgres_url(url) || redis::is_redis_url(url); }

std::string shown_store_url(const std::string& url) {
  if (!is_on_a_server(url)) return url;
  if (redis::is_redis_url(url)) {
    const Result<redis::Address> address = redis::parse_address(url);
    return address ? address->shown : scheme_of(url) + ":";
  }
  const Result<postgres::Dsn> dsn = postgres::parse_dsn(url);
  return dsn ? dsn->shown : scheme_of(url) + ":";
}

std::string store_url_in_force(const std::string& url) {
  const Result<postgres::Dsn> dsn = postgres::is_postgres_url(url) ? postgres::parse_dsn(url) : fail(Code::invalid, "");
  return dsn ? postgres::in_force(*dsn) : shown_store_url(url);
}

std::string from_any_folder(const std::string& url) {
  // A handler with a clean environment has no DATABASE_URL.
  if (const char* meant = url == "postgres:" ? std::getenv("DATABASE_URL") : nullptr) return meant;
  if (!url.starts_with(kSqlite)) return url;
  std::error_code unknown;
  const std::filesystem::path path = std::filesystem::absolute(url.substr(kSqlite.size()), unknown);
  return unknown ? url : std::string(kSqlite) + path.lexically_normal().string();
}

Result<std::unique_ptr<Store>> open_store(Runtime& runtime, Log log, const OpenOptions& options) {
  if (auto ok = check_store_url(options.url); !ok) return std::unexpected(ok.error());
  if (redis::is_redis_url(options.url)) {
    Result<std::unique_ptr<RedisStore>> store = RedisStore::open(runtime, log,
                                                                 {.url = options.url,
                                                                  .actor = options.actor,
                                                                  .accept_eviction = options.accept_eviction,
                                                                  .open_timeout = options.timeout,
                                                                  .stop = options.stop});
    if (!store) return std::unexpected(store.error());
    return std::unique_ptr<Store>(std::move(*store));
  }
  if (is_on_a_server(options.url)) {
    Result<std::unique_ptr<PostgresStore>> store = PostgresStore::open(runtime, log,
                                                                       {.url = options.url,
                                                                        .may_create = options.may_create,
                                                                        .mends = options.mends,
                                                                        .actor = options.actor,
                                                                        .open_timeout = options.timeout,
                                                                        .stop = options.stop});
    if (!store) return std::unexpected(store.error());
    return std::unique_ptr<Store>(std::move(*store));
  }
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
