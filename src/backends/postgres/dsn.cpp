#include "backends/postgres/dsn.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/text.hpp"

namespace fenceline::postgres {
namespace {

constexpr std::string_view kAlone = "postgres:";
constexpr std::string_view kForm = "use postgres://USER@HOST:PORT/DATABASE?schema=NAME";

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = list.find(','); end != std::string_view::npos; end = list.find(',', begin)) {
    words.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  words.emplace_back(list.substr(begin));
  return words;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += (c > 0x20 && c < 0x7f) ? c : '?';
  return out;
}

bool is_schema_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || (name.front() >= '0' && name.front() <= '9') || name.starts_with("pg_"))
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

// A password with an '@' or '/' in it that is not written as %XX makes its own end look like the host, which is shown.
// So an '@' stands only where the host begins.
bool may_show_a_password(std::string_view url) {
  const std::string_view rest = url.substr(url.find("://") + 3);
  const std::size_t at = rest.find('@');
  // Without a host, what follows the user's name is taken for a port.
  if (at == std::string_view::npos) {
    const std::vector<std::string> hosts = split(rest.substr(0, rest.find_first_of("/?#")));
    return std::any_of(hosts.begin(), hosts.end(), [](const std::string& host) {
      const std::size_t port = host.rfind(':');
      return port != std::string::npos && !host.ends_with(']') &&
             host.find_first_not_of("0123456789", port + 1) != std::string::npos;
    });
  }
  return rest.find('@', at + 1) != std::string_view::npos || rest.find_first_of("/?#") < at;
}

// One of our own options. False: it is libpq's.
Result<bool> take_own(const std::string& name, const std::string& value, Dsn& dsn) {
  if (name == "schema") {
    if (!is_schema_name(value))
      return fail(Code::invalid,
                  "the schema of the store must have 1 to 63 of a-z, 0-9 and _, the first one no digit, and not begin "
                  "with pg_");
    dsn.schema = value;
  } else if (name == "pooler") {
    if (value != "transaction" && value != "none")
      return fail(Code::invalid, "the store's option pooler must be transaction or none");
    dsn.pooled = value == "transaction";
  } else if (name == "listen") {
    if (value != "0" && value != "1") return fail(Code::invalid, "the store's option listen must be 0 or 1");
    dsn.listens = value == "1";
  } else {
    return false;
  }
  return true;
}

// Takes our own options out of the URL, and looks whether the others are known to libpq.
Result<std::string> without_own(std::string_view url, Dsn& dsn) {
  const std::size_t at = url.find('?');
  std::string rest(url.substr(0, at));
  if (at == std::string_view::npos) return rest;
  const Options known(PQconndefaults(), &PQconninfoFree);
  std::string_view query = url.substr(at + 1);
  std::set<std::string> given;
  char separator = '?';
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::optional<std::string> name = percent_decoded(pair.substr(0, equals));
    const std::optional<std::string> value =
        equals == std::string_view::npos ? std::nullopt : percent_decoded(pair.substr(equals + 1));
    if (!name || !value)
      return fail(Code::invalid, "an option in the store's URL is not NAME=VALUE; " + std::string(kForm));
    if (!given.insert(*name).second)
      return fail(Code::invalid,
                  "the store's URL has the option '" + printable(*name) + "' more than once; give it once");
    const Result<bool> own = take_own(*name, *value, dsn);
    if (!own) return std::unexpected(own.error());
    if (*own) continue;
    bool is_known = *name == "ssl";
    for (const PQconninfoOption* option = known.get(); option && option->keyword; ++option)
      is_known = is_known || *name == option->keyword;
    if (!is_known)
      return fail(Code::invalid, "the store's URL has an unknown option '" + printable(*name) +
                                     "'; use schema, pooler, listen, or an option of libpq such as sslmode");
    rest += separator;
    rest += pair;
    separator = '&';
  }
  return rest;
}

// As people may see it.
std::string shown(const Dsn& dsn) {
  std::map<std::string, std::string> parts;
  const Options defaults(PQconndefaults(), &PQconninfoFree);
  for (const PQconninfoOption* option = defaults.get(); option && option->keyword; ++option) {
    if (option->val) parts[option->keyword] = option->val;
  }
  for (const auto& [name, value] : dsn.options) parts[name] = value;
  const std::string user = parts["user"];
  const std::vector<std::string> hosts =
      split(parts["host"].empty() ? parts["hostaddr"].empty() ? "localhost" : parts["hostaddr"] : parts["host"]);
  const std::vector<std::string> ports = split(parts["port"]);
  const std::string database = parts["dbname"].empty() ? user : parts["dbname"];
  std::string places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& port = ports[ports.size() == hosts.size() ? i : 0];
    const bool is_six = hosts[i].find(':') != std::string::npos;  // an address of IPv6
    places += (i > 0 ? "," : "") + (is_six ? "[" + printable(hosts[i]) + "]" : printable(hosts[i])) + ":" +
              (port.empty() ? "5432" : printable(port));
  }
  return "postgres://" + printable(user) + "@" + places + "/" + printable(database) + "?schema=" + dsn.schema;
}

// Each host apart, so that one that does not answer cannot use up the time of the others. False: the lists do not fit
// each other.
bool take_servers(Dsn& dsn) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const auto& [name, value] : dsn.options) {
    if (name == "host" || name == "hostaddr" || name == "port") lists[name] = split(value);
  }
  std::size_t count = std::max(lists["host"].size(), lists["hostaddr"].size());
  if (count < 2) return true;
  for (const auto& [name, words] : lists) {
    if (!words.empty() && words.size() != count && !(name == "port" && words.size() == 1)) return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    DsnOptions& server = dsn.servers.emplace_back();
    for (const auto& [name, words] : lists) {
      const std::string word = words.empty() ? "" : words[words.size() == 1 ? 0 : i];
      if (!word.empty()) server.emplace_back(name, word);
    }
  }
  // Whoever cannot write is of no use, unless the URL knows better.
  const bool says = std::any_of(dsn.options.begin(), dsn.options.end(),
                                [](const auto& option) { return option.first == "target_session_attrs"; });
  std::erase_if(dsn.options, [](const auto& option) {
    return option.first == "host" || option.first == "hostaddr" || option.first == "port";
  });
  if (!says) dsn.options.emplace_back("target_session_attrs", "read-write");
  return true;
}

}  // namespace

std::string in_force(const Dsn& dsn) {
  std::string text = dsn.shown + (dsn.pooled ? "&pooler=transaction" : "") + (dsn.listens ? "" : "&listen=0");
  const Options defaults(PQconndefaults(), &PQconninfoFree);
  for (const char* name : {"sslmode", "target_session_attrs"}) {
    std::string value;
    for (const PQconninfoOption* option = defaults.get(); option && option->keyword; ++option) {
      if (option->val && std::string_view(option->keyword) == name) value = option->val;
    }
    for (const auto& [given, its] : dsn.options) {
      if (given == name) value = its;
    }
    if (!value.empty() && value != "any") text += "&" + std::string(name) + "=" + printable(value);
  }
  return text;
}

bool is_postgres_url(std::string_view url) {
  return url == kAlone || url.starts_with("postgres://") || url.starts_with("postgresql://");
}

Result<Dsn> parse_dsn(std::string_view url) {
  if (url == kAlone) {
    const char* from_environment = std::getenv("DATABASE_URL");
    if (!from_environment)
      return fail(Code::invalid,
                  "the store 'postgres:' does not name a server and DATABASE_URL is not set; " + std::string(kForm));
    url = from_environment;
    if (url == kAlone || !is_postgres_url(url))
      return fail(Code::invalid, "DATABASE_URL is not the URL of a PostgreSQL server; " + std::string(kForm));
  }
  if (!is_postgres_url(url) || url.find('\0') != std::string_view::npos)
    return fail(Code::invalid, "the store's URL cannot be parsed; " + std::string(kForm));
  if (may_show_a_password(url))
    return fail(Code::invalid,
                "the store's URL has no host, or a misplaced '@'; in a password write @ as %40, / as %2F, ? "
                "as %3F and # as %23");
  Dsn dsn;
  const Result<std::string> rest = without_own(url, dsn);
  if (!rest) return std::unexpected(rest.error());
  // libpq's own words would repeat the part that it does not understand, which may be the password.
  char* words = nullptr;
  const Options parsed(PQconninfoParse(rest->c_str(), &words), &PQconninfoFree);
  if (words) PQfreemem(words);
  if (!parsed)
    return fail(Code::invalid,
                "the store's URL cannot be parsed: a special character in the password must be written as %XX; " +
                    std::string(kForm));
  for (const PQconninfoOption* option = parsed.get(); option->keyword; ++option) {
    if (option->val) dsn.options.emplace_back(option->keyword, option->val);
  }
  dsn.shown = shown(dsn);
  if (!take_servers(dsn))
    return fail(Code::invalid,
                "in the store's URL the number of ports must match the number of hosts; use "
                "postgres://USER@HOST:PORT,HOST:PORT/DATABASE");
  return dsn;
}

}  // namespace fenceline::postgres
