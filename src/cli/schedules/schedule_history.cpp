// fenceline schedule history: what became of each tick.
#include <utility>

#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/time_text.hpp"
#include "cli/schedules/commands.hpp"
#include "cli/schedules/schedule_view.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPage = 100;
constexpr int kPageMost = 1000;

Result<TicksRequest> request_of(const Invocation& invocation) {
  TicksRequest request{.ns = invocation.ns,
                       .schedule = invocation.argument("NAME"),
                       .fired_only = invocation.has("--fired"),
                       .after = {},
                       .before = {}};
  if (invocation.has("--all") && (invocation.has("--limit") || invocation.has("--before")))
    return std::unexpected(usage_error("--all goes with neither --limit nor --before; leave one of them out"));
  const Result<std::int64_t> limit =
      invocation.number("--limit", invocation.has("--all") ? kPageMost : kPage, 1, kPageMost);
  if (!limit) return std::unexpected(limit.error());
  request.limit = static_cast<int>(*limit);
  if (const auto text = invocation.value("--before")) {
    const Result<WallTime> before = parse_time(*text);
    if (!before) return std::unexpected(usage_error("--before " + before.error().message));
    request.before = *before;
  }
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return request;
}

Result<int> run(Invocation& invocation) {
  Result<TicksRequest> request = request_of(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  for (bool first = true;; first = false) {
    const Result<TicksReply> page = (*store)->ticks(*request);
    if (!page) return std::unexpected(page.error());
    if (first && page->ticks.empty()) {  // of a removed one there is still something to see
      if (const Result<FoundSchedule> found = find_schedule(invocation, **store, request->schedule); !found)
        return std::unexpected(found.error());
    }
    bool read = true;
    if (!invocation.json) {
      read = print_table(tick_table(page->ticks), first);
    } else {
      read = !first || print("{\"ticks\":[");
      for (const TickRow& row : page->ticks)
        read = read && print((first && &row == &page->ticks.front() ? "" : ",") + tick_json(row));
    }
    if (!read) return kExitOk;  // nobody reads on
    if (invocation.stop.stop_requested()) return interrupted_exit();
    if (invocation.has("--all") && page->next) {
      request->before = page->next;
      continue;
    }
    if (invocation.json)
      print_line("],\"next\":" + (page->next ? "\"" + format_time(*page->next) + "\"" : std::string("null")) + "}");
    flush_output();
    if (!invocation.json && page->next)
      tell("fenceline: more ticks lie before; go on with --before " + format_time(*page->next) + ", or use --all");
    return kExitOk;
  }
}

}  // namespace

CommandSpec schedule_history_command() {
  return {.name = "schedule history",
          .summary =
              "Shows what became of the ticks of a schedule, newest first: fired, with the job, or skipped, why, and "
              "by whom.",
          .arguments = {{"NAME", "its name; one that was removed will do, for a while"}},
          .options = {{"--fired", "", "only those that fired"},
                      {"--limit", "N", "how many rows, 1 to 1000; default 100"},
                      {"--before", "TIME", "go on where a page ended: its 'next'"},
                      {"--all", "", "every page"}},
          .sections = {{"Why a tick was skipped; those in a row are one range, 'tick' to 'last'",
                        {{"window", "older than the catch-up window"},
                         {"missed", "nobody was there in time, and catch-up is none"},
                         {"superseded", "a later one fired in its place (catch-up latest)"},
                         {"cap", "more were open than may fire at once"},
                         {"overlap", "a job of an earlier tick was unfinished"},
                         {"paused", "the schedule was paused"}}},
                       {"How long", {{"kept", "7 days from the tick on, and at most 10000 rows of a schedule"}}}},
          .examples = {{"fenceline schedule history nightly", "did it run last night?"},
                       {"fenceline schedule history poll --all --json | jq '[.ticks[].count] | add'",
                        "how many ticks there were"}},
          .run = run};
}

}  // namespace fenceline::cli
