#include "bench/postgres_url.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace fenceline::bench {
namespace {

constexpr std::string_view kSchemes[] = {"postgres://", "postgresql://"};
constexpr std::string_view kAlone = "postgres:";  // the URL is in DATABASE_URL
constexpr std::uint16_t kPort = 5432;
constexpr const char* kSocketFolder = "/var/run/postgresql";  // of Debian's libpq

// scheme, "user:password@", "host:port", "/database", and the parameters of the query.
struct Parts {
  std::string scheme;
  std::string user;
  std::string host;
  std::string path;
  std::vector<std::string> parameters;
};

Parts parts_of(std::string_view url) {
  Parts parts;
  if (url == kAlone) {
    const char* const elsewhere = std::getenv("DATABASE_URL");
    url = elsewhere == nullptr ? "" : elsewhere;
  }
  for (const std::string_view scheme : kSchemes) {
    if (!url.starts_with(scheme)) continue;
    parts.scheme = scheme;
    url.remove_prefix(scheme.size());
  }
  if (const std::size_t query = url.find('?'); query != std::string_view::npos) {
    std::string_view rest = url.substr(query + 1);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('&'), rest.size());
      if (end > 0) parts.parameters.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    url = url.substr(0, query);
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  parts.path = url.substr(slash);
  url = url.substr(0, slash);
  // An '@' in a password must be encoded, yet people forget it.
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
    parts.user = url.substr(0, at + 1);
    url.remove_prefix(at + 1);
  }
  parts.host = url;
  return parts;
}

std::string text_of(const Parts& parts) {
  std::string url = parts.scheme + parts.user + parts.host + parts.path;
  char before = '?';
  for (const std::string& parameter : parts.parameters) {
    url += before + parameter;
    before = '&';
  }
  return url;
}

std::string_view name_of(std::string_view parameter) { return parameter.substr(0, parameter.find('=')); }

void remove(Parts& parts, std::string_view name) {
  std::erase_if(parts.parameters, [&](const std::string& parameter) { return name_of(parameter) == name; });
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      plain += static_cast<char>(value);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

bool is_postgres_url(std::string_view url) {
  return url == kAlone ||
         std::ranges::any_of(kSchemes, [&](std::string_view scheme) { return url.starts_with(scheme); });
}

std::string parameter_of(std::string_view url, std::string_view name) {
  for (const std::string& parameter : parts_of(url).parameters) {
    if (name_of(parameter) == name && parameter.size() > name.size())
      return decoded(std::string_view(parameter).substr(name.size() + 1));
  }
  return {};
}

std::string with_parameter(std::string_view url, std::string_view name, std::string_view value) {
  Parts parts = parts_of(url);
  remove(parts, name);
  if (!value.empty()) parts.parameters.push_back(std::string(name) + "=" + std::string(value));
  return text_of(parts);
}

std::string libpq_url(std::string_view url) {
  Parts parts = parts_of(url);
  for (const char* ours : {"schema", "pooler", "listen"}) remove(parts, ours);
  return text_of(parts);
}

Result<PostgresAddress> address_of(std::string_view url) {
  char* problem = nullptr;
  PQconninfoOption* const options = PQconninfoParse(libpq_url(url).c_str(), &problem);
  if (options == nullptr) {
    PQfreemem(problem);  // it repeats the URL, with its password
    return fail(Code::invalid, "the URL of the store is not understood; use postgres://USER@HOST:PORT/DATABASE");
  }
  PostgresAddress address{.host = kSocketFolder, .port = kPort};
  std::string port;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if (option->val == nullptr || *option->val == '\0') continue;
    if (keyword == "host") address.host = option->val;
    if (keyword == "port") port = option->val;
  }
  PQconninfoFree(options);
  if (address.host.find(',') != std::string::npos || port.find(',') != std::string::npos)
    return fail(Code::invalid, "the URL of the store names several hosts; name one of them");
  std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (address.host.starts_with('/')) address.host += "/.s.PGSQL." + std::to_string(address.port);
  return address;
}

std::string with_address(std::string_view url, const std::string& host, std::uint16_t port) {
  Parts parts = parts_of(url);
  const std::string named = parameter_of(url, "host");
  for (const char* name : {"host", "hostaddr", "port"}) remove(parts, name);
  // A name stays: a certificate is of that name.
  std::string name = named.empty() ? parts.host.substr(0, parts.host.rfind(':')) : named;
  const bool is_name = !name.empty() && !name.starts_with('/') && !name.starts_with("%2") &&
                       name.find_first_of(",[") == std::string::npos;
  parts.host = (is_name ? name : host) + ":" + std::to_string(port);
  if (is_name) parts.parameters.push_back("hostaddr=" + host);
  return text_of(parts);
}

}  // namespace fenceline::bench
