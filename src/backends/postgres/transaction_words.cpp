#include "backends/postgres/transaction_words.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"

namespace fenceline::postgres {
namespace {

// What may stand before a word: spaces, comments, which may be in each other, and empty statements.
void skip_to_word(std::string_view& sql) {
  constexpr std::string_view kBetween = " \t\n\r\f\v;";
  while (!sql.empty()) {
    if (kBetween.find(sql.front()) != std::string_view::npos) {
      sql.remove_prefix(1);
    } else if (sql.starts_with("--")) {
      sql.remove_prefix(std::min(sql.find('\n'), sql.size()));
    } else if (sql.starts_with("/*")) {
      int depth = 0;
      do {
        const bool opens = sql.starts_with("/*");
        const bool closes = sql.starts_with("*/");
        depth += opens ? 1 : closes ? -1 : 0;
        sql.remove_prefix(opens || closes ? 2 : 1);
      } while (depth > 0 && !sql.empty());
    } else {
      return;
    }
  }
}

std::string take_word(std::string_view& sql) {
  skip_to_word(sql);
  const auto* const end = std::ranges::find_if_not(
      sql, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; });
  const auto size = static_cast<std::size_t>(end - sql.begin());
  std::string word = lower_case(sql.substr(0, size));
  sql.remove_prefix(size);
  return word;
}

}  // namespace

bool ends_transaction(std::string_view sql) {
  constexpr std::array<std::string_view, 5> kAlways{"begin", "start", "commit", "end", "abort"};
  const std::string first = take_word(sql);
  if (std::ranges::find(kAlways, first) != kAlways.end()) return true;
  if (first == "prepare") return take_word(sql) == "transaction";
  if (first != "rollback") return false;
  std::string next = take_word(sql);
  if (next == "work" || next == "transaction") next = take_word(sql);
  return next != "to";
}

}  // namespace fenceline::postgres
