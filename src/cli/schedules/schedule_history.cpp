// fenceline schedule history: what became of each tick.
#include <utility>

#include "cli/frame/pages.hpp"
#include "cli/frame/time_text.hpp"
#include "cli/schedules/commands.hpp"
#include "cli/schedules/schedule_view.hpp"

namespace fenceline::cli {
namespace {

Result<TicksRequest> ticks_request(const Invocation& invocation) {
  TicksRequest request{.ns = invocation.ns,
                       .schedule = invocation.argument("NAME"),
                       .fired_only = invocation.has("--fired"),
                       .after = {},
                       .before = {}};
  const Result<int> limit = page_limit(invocation, {"--before"});
  if (!limit) return std::unexpected(limit.error());
  request.limit = *limit;
  if (const auto text = invocation.value("--before")) {
    const Result<WallTime> before = parse_time(*text);
    if (!before) return std::unexpected(usage_error("--before " + before.error().message));
    request.before = *before;
  }
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return request;
}

Result<int> run_schedule_history(Invocation& invocation) {
  Result<TicksRequest> request = ticks_request(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const auto ask = [&, first = true]() mutable {
    Result<TicksReply> reply = (*store)->ticks(*request);
    if (!std::exchange(first, false) || !reply || !reply->ticks.empty()) return reply;
    // Of a removed one there is still something to see.
    if (const Result<FoundSchedule> found = find_schedule(invocation, **store, request->schedule); !found)
      reply = std::unexpected(found.error());
    return reply;
  };
  const auto none = [&] {
    return request->before ? std::string("no earlier ticks")
                           : "schedule " + request->schedule + " has no ticks yet; a worker fires them";
  };
  return print_pages(invocation, {.list = "ticks", .follow = "lie before", .option = "--before", .none = none},
                     request->before, ask, &TicksReply::ticks, tick_table, tick_json);
}

}  // namespace

CommandSpec schedule_history_command() {
  return {.name = "schedule history",
          .summary = "Show which ticks fired or were skipped, and why",
          .details = "Newest first, with the job of each tick and the scheduler that decided.",
          .arguments = {{"NAME", "name of the schedule; removed ones are kept for a while"}},
          .options = {{"--fired", "", "only ticks that fired"},
                      {"--limit", "N", "page size, 1 to 1000; default 100"},
                      {"--before", "TIME", "continue after a page: its 'next'"},
                      {"--all", "", "all pages"}},
          .sections = {{"Why a tick was skipped (a run of them is one range, 'tick' to 'last')",
                        {{"window", "older than the catch-up window"},
                         {"missed", "no scheduler was running in time, and catch-up is none"},
                         {"superseded", "a later tick fired in its place (catch-up latest)"},
                         {"cap", "more ticks were open than --cap allows"},
                         {"overlap", "a job of an earlier tick was unfinished"},
                         {"paused", "the schedule was paused"}}},
                       {"How long it is kept", {{"kept", "7 days after the tick, at most 10000 rows per schedule"}}}},
          .examples = {{"fenceline schedule history nightly", "did it run last night?"},
                       {"fenceline schedule history poll --all --json | jq '[.ticks[].count] | add'",
                        "how many ticks there were"}},
          .run = run_schedule_history};
}

}  // namespace fenceline::cli
