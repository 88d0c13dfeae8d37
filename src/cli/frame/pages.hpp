// Lists that are read and printed a page at a time, so that a list of millions is never in memory: --limit, --after and
// --all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {

// --limit, or as many as a page has; with --all, as many as one may have. `after` are the options that go on where a
// page ended. Errors: usage.
Result<int> page_limit(const Invocation& invocation, const std::vector<std::string_view>& after = {"--after"});

// What the list is called in JSON, and what is said when more follows: "more jobs follow; go on with --after ...".
struct PageWords {
  std::string list;  // "jobs"
  std::string follow = "follow";
  std::string option = "--after";
  std::function<std::string()> none = {};  // what a terminal shows of an empty list; unset: "no jobs"
};

class Pages {
 public:
  Pages(const Invocation& invocation, PageWords words) : invocation_(invocation), words_(std::move(words)) {}

  // Prints the rows of a page, for people. False: the reader is gone.
  bool table(const Table& rows);
  // One row, for a script.
  bool row(const std::string& json);
  // The last page was printed; `next`: where the list continues.
  void end(const std::optional<std::string>& next);

 private:
  std::string before_row();

  const Invocation& invocation_;
  const PageWords words_;
  bool first_ = true;
  bool empty_ = true;
};

inline std::string cursor_text(std::int64_t next) { return std::to_string(next); }
inline std::string cursor_text(const std::string& next) { return next; }
inline std::string cursor_text(WallTime next) { return format_time(next); }

// Asks for a page and prints it; with --all, for every page, each after `after`. `rows` says what of a reply is listed.
template <class Cursor, class Ask, class ToTable, class ToJson>
Result<int> print_pages(const Invocation& invocation, PageWords words, Cursor& after, Ask ask, auto rows,
                        ToTable to_table, ToJson to_json) {
  Pages pages(invocation, std::move(words));
  while (true) {
    auto reply = ask();
    if (!reply) return std::unexpected(reply.error());
    bool read = invocation.json || pages.table(to_table((*reply).*rows));
    if (invocation.json) {
      for (const auto& row : (*reply).*rows) read = read && pages.row(to_json(row));
    }
    if (!read) return kExitOk;  // the reader is gone
    if (!invocation.has("--all") || !reply->next) {
      pages.end(reply->next ? std::optional(cursor_text(*reply->next)) : std::nullopt);
      return kExitOk;
    }
    if (invocation.stop.stop_requested()) return interrupted_exit();
    after = *reply->next;
  }
}

}  // namespace fenceline::cli
