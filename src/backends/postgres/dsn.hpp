// The address of a store on a PostgreSQL server: postgres://user@host:port/db?schema=NAME&sslmode=verify-full.
// Passwords come from the URL, PGPASSWORD or .pgpass, and go nowhere but to the server: `shown` has user, hosts, ports,
// database and schema only. Several hosts (h1:5432,h2:5432) are a primary and its standbys: the one that takes writes
// is used, whichever that is by now.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace fenceline::postgres {

inline constexpr std::string_view kSchemaDefault = "fenceline";

using DsnOptions = std::vector<std::pair<std::string, std::string>>;

struct Dsn {
  DsnOptions options;               // for libpq, the password included
  std::vector<DsnOptions> servers;  // of several hosts, what names each; else empty
  // Of these, where the last connection was made: it is tried first. All copies share it.
  std::shared_ptr<std::atomic<std::size_t>> reached = std::make_shared<std::atomic<std::size_t>>(0);
  std::string schema{kSchemaDefault};
  bool pooled = false;  // pooler=transaction: what a session remembers cannot be relied on
  bool listens = true;  // listen=0: no connection of its own for wake-ups
  std::string shown;
};

// Whether it is meant for this store: postgres://, postgresql://, or postgres: alone, which reads DATABASE_URL.
bool is_postgres_url(std::string_view url);

// What is shown, and how it is used: pooler, listen, sslmode and the kind of server, from the URL, the environment or
// libpq's defaults.
std::string in_force(const Dsn& dsn);

// Errors: invalid, in words that repeat nothing of the URL but the name of an option.
Result<Dsn> parse_dsn(std::string_view url);

}  // namespace fenceline::postgres
