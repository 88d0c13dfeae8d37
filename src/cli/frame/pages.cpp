#include "cli/frame/pages.hpp"

#include <algorithm>
#include <utility>

#include "cli/frame/output.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPage = 100;
constexpr int kPageMost = 1000;

}  // namespace

Result<int> page_limit(const Invocation& invocation, const std::vector<std::string_view>& after) {
  const bool all = invocation.has("--all");
  const bool goes_on = std::ranges::any_of(after, [&](std::string_view option) { return invocation.has(option); });
  if (all && (goes_on || invocation.has("--limit")))
    return std::unexpected(usage_error("--all cannot be combined with --limit or " + std::string(after.front()) +
                                       "; use one or the other"));
  const Result<std::int64_t> limit = invocation.number("--limit", all ? kPageMost : kPage, 1, kPageMost);
  if (!limit) return std::unexpected(limit.error());
  return static_cast<int>(*limit);
}

bool Pages::table(const Table& rows) {
  empty_ = empty_ && rows.rows.empty();
  const bool header = std::exchange(first_, false);
  if (rows.rows.empty() && stdout_is_terminal()) return true;  // a header alone says nothing to people
  return print_table(rows, header);
}

bool Pages::row(const std::string& json) { return print(before_row() + json); }

std::string Pages::before_row() { return std::exchange(first_, false) ? "{\"" + words_.list + "\":[" : ","; }

void Pages::end(const std::optional<std::string>& next) {
  if (invocation_.json) {
    print_line((first_ ? before_row() : "") + "],\"next\":" + (next ? "\"" + *next + "\"" : "null") + "}");
    return;
  }
  flush_output();
  if (next) {
    tell("fenceline: more " + words_.list + " " + words_.follow + "; continue with " + words_.option + " " + *next +
         ", or use --all");
  } else if (empty_ && stdout_is_terminal()) {
    tell("fenceline: " + (words_.none ? words_.none() : "no " + words_.list));
  }
}

}  // namespace fenceline::cli
