// fenceline trail: what operators did, when and why.

#include "cli/frame/job_ids.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/commands.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_trail(Invocation& invocation) {
  const Result<std::int64_t> limit = invocation.number("--limit", 100, 1, 10'000);
  if (!limit) return std::unexpected(limit.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<TrailEntry>> entries = (*store)->trail(invocation.ns, static_cast<int>(*limit));
  if (!entries) return std::unexpected(entries.error());
  if (invocation.json) {
    Json trail = Json::array();
    for (const TrailEntry& entry : *entries) {
      trail.push_back({{"at", format_time(entry.at)},
                       {"namespace", entry.ns},
                       {"actor", entry.actor},
                       {"act", entry.act},
                       {"subject", entry.subject},
                       {"reason", entry.reason}});
    }
    print_line(Json{{"trail", trail}}.dump(-1, ' ', false, Json::error_handler_t::replace));
    return kExitOk;
  }
  // The namespace is the same in every line but those of the whole store, whose acts say so.
  Table table{{{.name = "at", .whole = true},
               {.name = "namespace", .wide_only = true},
               {"actor"},
               {.name = "act", .whole = true},
               {.name = "subject", .wraps = true},
               {.name = "reason", .wraps = true}},
              {}};
  const WallTime now = invocation.runtime->wall_now();
  for (const TrailEntry& entry : *entries) {
    const std::string at = stdout_is_terminal() ? short_time(entry.at, now) : format_time(entry.at);
    Cell subject(entry.subject);
    subject.brief = with_short_ids(entry.subject);
    table.rows.push_back({at, entry.ns, entry.actor, entry.act, subject, entry.reason});
  }
  print_list(table, "the trail is empty");
  return kExitOk;
}

}  // namespace

CommandSpec trail_command() {
  return {.name = "trail",
          .summary = "Show what operators did, oldest first",
          .details = "Includes actions in this namespace and on the whole store.",
          .options = {{"--limit", "N", "the newest N, 1 to 10000; default 100"}},
          .sections = {{"Acts",
                        {{"job_cancelled", "by job cancel"},
                         {"job_retried", "by job retry or dead redrive"},
                         {"effect_resolved", "by effects resolve"},
                         {"queue_...", "set, paused, resumed, purged"},
                         {"worker_...", "quiet, stop, work (resumed)"},
                         {"schedule_...",
                          "added, changed, paused, resumed, removed, rewound (where to), run (the job); by "
                          "'scheduler': the clock went back"},
                         {"lock_broken", "by locks break: the lock and its fence"},
                         {"store_..., boot_...", "the whole store; shown in every namespace"}}}},
          .examples = {{"fenceline trail --limit 20", "the last twenty actions"}},
          .run = run_trail};
}

}  // namespace fenceline::cli
