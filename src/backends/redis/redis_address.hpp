// The address of a store on a Redis server:
//   redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?OPTION=VALUE&...]
//   rediss://...                  with TLS: the server's certificate must be by a known authority, or by the one of
//   ca=FILE, and for this host unix:/PATH[?OPTION=VALUE&...]
// Options: prefix=NAME (of every key, `fl`), db=N, user=NAME, password_file=FILE, connect_timeout=5s, and ca=FILE,
// server_name=NAME for rediss. A password comes from the URL, a file or REDISCLI_AUTH, and goes nowhere but to the
// server: `shown` has none.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline::redis {

inline constexpr std::string_view kPrefixDefault = "fl";

struct Address {
  std::string host;  // empty: a unix socket
  std::string port = "6379";
  std::string path;  // of the unix socket
  bool tls = false;
  std::string ca_file;      // empty: those that the system trusts
  std::string server_name;  // that the certificate must be for, instead of the host
  std::string user;         // empty: the server's default user
  std::string password;
  int database = 0;
  std::string prefix{kPrefixDefault};
  Duration connect_timeout = std::chrono::seconds{5};
  std::string shown;  // for people
};

// Whether it is meant for this store: redis://, rediss:// or unix:.
bool is_redis_url(std::string_view url);

// Errors: invalid, in words that repeat nothing of the URL but the name of an option; unavailable (password_file cannot
// be read).
Result<Address> parse_address(std::string_view url);

// redis-cli with what it needs to reach the server, for a shell. The password is not in it: redis-cli finds it in
// REDISCLI_AUTH.
std::string redis_cli_line(const Address& address);

}  // namespace fenceline::redis
