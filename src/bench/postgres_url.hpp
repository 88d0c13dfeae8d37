// The few things that a bench or a drill does to a URL of a PostgreSQL store: another schema, another address.
// `schema`, `pooler` and `listen` in its query are ours; libpq knows the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace fenceline::bench {

bool is_postgres_url(std::string_view url);

// The value of a parameter in its query, percent-encoding undone; empty if it is not there.
std::string parameter_of(std::string_view url, std::string_view name);
// The same URL with that parameter, or without it if `value` is empty. `value` must be made of letters, digits, '_' and
// '-'.
std::string with_parameter(std::string_view url, std::string_view name, std::string_view value);

// What libpq takes: without what is only ours.
std::string libpq_url(std::string_view url);

// Where the server listens.
struct PostgresAddress {
  std::string host;  // a path that begins with '/': a unix socket
  std::uint16_t port = 0;
};
// Errors: invalid (libpq does not understand it, or it names several hosts).
Result<PostgresAddress> address_of(std::string_view url);
// The same database, reached at another address: `host` must be a number of four parts.
std::string with_address(std::string_view url, const std::string& host, std::uint16_t port);

}  // namespace fenceline::bench
