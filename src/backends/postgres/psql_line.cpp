#include "backends/postgres/psql_line.hpp"

#include <map>

#include "store/store_findings.hpp"

namespace fenceline::postgres {
namespace {

std::string doubled(const std::string& text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out += c == quote ? std::string(2, quote) : std::string(1, c);
  return out + quote;
}

std::map<std::string, std::string> open_options(const Dsn& dsn) {
  std::map<std::string, std::string> options;
  for (const auto& [name, value] : dsn.options) {
    if (name == "host" || name == "hostaddr" || name == "port" || name == "user" || name == "dbname" ||
        name == "sslmode" || name == "sslrootcert")
      options[name] = value;
  }
  if (!dsn.servers.empty()) {
    for (const auto& [name, value] : dsn.servers[*dsn.reached % dsn.servers.size()]) options[name] = value;
  }
  return options;
}

}  // namespace

std::string connection_words(const Dsn& dsn) {
  std::string words;
  for (const auto& [name, value] : open_options(dsn)) {
    std::string escaped;
    for (const char c : value) escaped += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    const bool plain = !value.empty() && value.find_first_of(" '\\") == std::string::npos;
    words += (words.empty() ? "" : " ") + name + "=" + (plain ? value : "'" + escaped + "'");
  }
  return words;
}

std::string host_of(const Dsn& dsn) {
  const std::map<std::string, std::string> options = open_options(dsn);
  const auto host = options.find("host"), address = options.find("hostaddr");
  if (host != options.end() && !host->second.starts_with('/')) return host->second;
  return address != options.end() ? address->second : "localhost";
}

std::string psql_line(const Dsn& dsn, const std::vector<std::string>& statements) {
  const std::string words = connection_words(dsn);
  std::string line = words.empty() ? "psql" : "psql " + shell_word(words);
  for (const std::string& statement : statements) line += " -c " + shell_word(statement);
  return line;
}

std::string quoted_name(const std::string& name) { return doubled(name, '"'); }
std::string quoted_text(const std::string& text) { return doubled(text, '\''); }

}  // namespace fenceline::postgres
