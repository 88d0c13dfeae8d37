#include "backends/redis/redis_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include "base/duration_text.hpp"
#include "base/text.hpp"
#include "store/store_findings.hpp"

namespace fenceline::redis {
namespace {

constexpr std::string_view kForm = "use redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss:// for TLS, or unix:/PATH";
constexpr DurationRange kConnectRange{std::chrono::milliseconds{10}, std::chrono::minutes{5}};
constexpr std::size_t kSocketPathMost = 107;  // bytes, of the kernel
constexpr std::size_t kPasswordMost = 4096;

std::optional<std::string> decoded(std::string_view text) {
  std::optional<std::string> out = percent_decoded(text);
  if (out && out->find('\0') != std::string::npos) return std::nullopt;
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 120)) out += (c > 0x20 && c < 0x7f) ? c : '?';
  return out;
}

bool is_prefix(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':';
  });
}

std::optional<int> number_up_to(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text.front() == '-' || error != std::errc{} || end != text.data() + text.size() || number > most)
    return std::nullopt;
  return number;
}

Result<void> take_database(std::string_view text, Address& address) {
  const std::optional<int> number = number_up_to(text, 65535);
  if (!number) return fail(Code::invalid, "the database in the store's URL is not a number from 0 to 65535");
  address.database = *number;
  return {};
}

Result<std::string> read_password(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kPasswordMost + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.eof())
    return fail(Code::unavailable,
                "the store's password_file cannot be read or is too large; check its path and permissions");
  text.resize(static_cast<std::size_t>(in.gcount()));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

// One option after another, as they stand in the URL.
class Options {
 public:
  explicit Options(Address& address) : address_(address) {}

  Result<void> take(std::string_view query) {
    while (!query.empty()) {
      const std::string_view pair = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(query.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      const std::optional<std::string> name = decoded(pair.substr(0, equals));
      const std::optional<std::string> value =
          equals == std::string_view::npos ? std::nullopt : decoded(pair.substr(equals + 1));
      if (!name || !value)
        return fail(Code::invalid, "an option in the store's URL is not NAME=VALUE; " + std::string(kForm));
      if (!given_.insert(*name).second)
        return fail(Code::invalid,
                    "the store's URL has the option '" + printable(*name) + "' more than once; give it once");
      if (const Result<void> taken = take_one(*name, *value); !taken) return taken;
    }
    return {};
  }

 private:
  Result<void> take_one(const std::string& name, const std::string& value) {
    if (name == "prefix") {
      if (!is_prefix(value))
        return fail(Code::invalid, "the prefix of the store must have 1 to 64 of a-z, A-Z, 0-9, _, -, . and :");
      address_.prefix = value;
    } else if (name == "db") {
      if (address_.database != 0)
        return fail(Code::invalid, "the store's URL names its database twice; give /N or db=N");
      return take_database(value, address_);
    } else if (name == "user") {
      if (!address_.user.empty())
        return fail(Code::invalid, "the store's URL names its user twice; give USER@ or user=");
      address_.user = value;
    } else if (name == "password_file") {
      if (!address_.password.empty())
        return fail(Code::invalid, "the store's URL has a password and a password_file; give one of them");
      Result<std::string> read = read_password(value);
      if (!read) return std::unexpected(read.error());
      address_.password = std::move(*read);
    } else if (name == "connect_timeout") {
      const Result<Duration> duration = parse_duration(value, kConnectRange);
      if (!duration)
        return fail(Code::invalid, "the option connect_timeout of the store is not a duration from 10ms to 5m, as 5s");
      address_.connect_timeout = *duration;
    } else if (name == "ca" || name == "server_name") {
      if (!address_.tls)
        return fail(Code::invalid, "the option " + name + " of the store needs TLS; use rediss:// in its URL");
      if (value.empty()) return fail(Code::invalid, "the option " + name + " of the store is empty");
      (name == "ca" ? address_.ca_file : address_.server_name) = value;
    } else {
      return fail(
          Code::invalid,
          "the store's URL has an unknown option '" + printable(name) +
              "'; use prefix, db, user, password_file, connect_timeout, and with rediss also ca and server_name");
    }
    return {};
  }

  Address& address_;
  std::set<std::string> given_;
};

// [USER[:PASSWORD]@]HOST[:PORT]
Result<void> take_authority(std::string_view text, Address& address) {
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    const std::string_view who = text.substr(0, at);
    const std::size_t colon = who.find(':');
    const std::optional<std::string> user = decoded(who.substr(0, colon));
    const std::optional<std::string> password = decoded(colon == std::string_view::npos ? "" : who.substr(colon + 1));
    if (!user || !password)
      return fail(Code::invalid,
                  "a % in the user or password of the store's URL is not followed by two hex digits; write % as %25");
    address.user = *user;
    address.password = *password;
    text.remove_prefix(at + 1);
  }
  const bool is_six = text.starts_with('[');
  const std::size_t host_end = is_six ? text.find(']') : text.find(':');
  if (is_six && host_end == std::string_view::npos)
    return fail(Code::invalid, "the host in the store's URL has a [ and no ]; write an address of IPv6 as [::1]");
  address.host = text.substr(is_six ? 1 : 0, is_six ? host_end - 1 : host_end);
  const std::string_view rest = is_six                               ? text.substr(host_end + 1)
                                : host_end == std::string_view::npos ? ""
                                                                     : text.substr(host_end);
  const bool is_host = !address.host.empty() && std::all_of(address.host.begin(), address.host.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || (is_six && (c == ':' || c == '%'));
  });
  if (!is_host) return fail(Code::invalid, "the store's URL does not name a valid host; " + std::string(kForm));
  if (rest.empty()) return {};
  const std::optional<int> port = rest.starts_with(':') ? number_up_to(rest.substr(1), 65535) : std::nullopt;
  if (!port || *port == 0)
    return fail(
        Code::invalid,
        "the port in the store's URL is not a number from 1 to 65535; before a password's @ write USER:PASSWORD");
  address.port = std::to_string(*port);
  return {};
}

// A password with an '@' or '/' in it that is not written as %XX makes its own end look like the host, which is shown.
bool may_show_a_password(std::string_view rest) {
  const std::size_t at = rest.find('@');
  if (at == std::string_view::npos) return false;
  return rest.find('@', at + 1) != std::string_view::npos || rest.find_first_of("/?#") < at;
}

Result<void> take_network(std::string_view rest, Address& address, Options& options) {
  if (may_show_a_password(rest))
    return fail(Code::invalid,
                "the store's URL has a misplaced '@'; in a password write @ as %40, / as %2F, ? as %3F and # as %23");
  if (rest.find('#') != std::string_view::npos)
    return fail(Code::invalid, "the store's URL has a '#', which is not allowed; in a password write it as %23");
  const std::size_t query = rest.find('?');
  const std::string_view place = rest.substr(0, query);
  const std::size_t slash = place.find('/');
  if (const Result<void> taken = take_authority(place.substr(0, slash), address); !taken) return taken;
  const std::string_view database = slash == std::string_view::npos ? "" : place.substr(slash + 1);
  if (!database.empty()) {
    if (const Result<void> taken = take_database(database, address); !taken) return taken;
  }
  return query == std::string_view::npos ? Result<void>{} : options.take(rest.substr(query + 1));
}

Result<void> take_unix(std::string_view rest, Address& address, Options& options) {
  while (rest.starts_with("//")) rest.remove_prefix(1);
  const std::size_t query = rest.find('?');
  const std::optional<std::string> path = decoded(rest.substr(0, query));
  if (!path || !path->starts_with('/') || path->size() < 2)
    return fail(Code::invalid, "the store's URL must name a socket by its absolute path; use unix:/PATH");
  if (path->size() > kSocketPathMost)
    return fail(Code::invalid, "the path of the store's socket is longer than 107 bytes, which the system allows");
  address.path = *path;
  return query == std::string_view::npos ? Result<void>{} : options.take(rest.substr(query + 1));
}

std::string shown(const Address& address) {
  std::string text;
  if (address.host.empty()) {
    text = "unix:" + printable(address.path);
  } else {
    const bool is_six = address.host.find(':') != std::string::npos;
    text = std::string(address.tls ? "rediss://" : "redis://") +
           (address.user.empty() ? "" : printable(address.user) + "@") +
           (is_six ? "[" + address.host + "]" : address.host) + ":" + address.port;
    text += "/" + std::to_string(address.database);
  }
  text += "?prefix=" + address.prefix;
  if (address.host.empty() && address.database != 0) text += "&db=" + std::to_string(address.database);
  if (address.host.empty() && !address.user.empty()) text += "&user=" + printable(address.user);
  return text;
}

}  // namespace

bool is_redis_url(std::string_view url) {
  return url.starts_with("redis://") || url.starts_with("rediss://") || url.starts_with("unix:");
}

Result<Address> parse_address(std::string_view url) {
  if (!is_redis_url(url) || url.find('\0') != std::string_view::npos)
    return fail(Code::invalid, "the store's URL cannot be parsed; " + std::string(kForm));
  Address address;
  Options options(address);
  address.tls = url.starts_with("rediss:");
  const std::string_view rest = url.substr(url.find(':') + 1);
  const Result<void> taken =
      url.starts_with("unix:") ? take_unix(rest, address, options) : take_network(rest.substr(2), address, options);
  if (!taken) return std::unexpected(taken.error());
  if (address.password.empty()) {
    if (const char* password = std::getenv("REDISCLI_AUTH")) address.password = password;
  }
  address.shown = shown(address);
  return address;
}

std::string redis_cli_line(const Address& address) {
  std::string line = "redis-cli";
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) line += " " + std::string(option) + " " + shell_word(value);
  };
  if (address.host.empty()) {
    add("-s", address.path);
  } else {
    add("-h", address.host);
    add("-p", address.port);
  }
  if (address.tls) line += " --tls";
  add("--cacert", address.ca_file);
  add("--sni", address.server_name);
  add("--user", address.user);
  add("-n", address.database == 0 ? "" : std::to_string(address.database));
  return line;
}

}  // namespace fenceline::redis
