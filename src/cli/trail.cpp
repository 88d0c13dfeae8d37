// fenceline trail: what operators did, when and why.
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<int> run(Invocation& invocation) {
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
  Table table{{{"at"}, {"namespace"}, {"actor"}, {"act"}, {"subject"}, {"reason"}}, {}};
  for (const TrailEntry& entry : *entries)
    table.rows.push_back({format_time(entry.at), entry.ns, entry.actor, entry.act, entry.subject, entry.reason});
  print_table(table);
  return kExitOk;
}

}  // namespace

CommandSpec trail_command() {
  return {.name = "trail",
          .summary = "Shows what operators did in this namespace and to the whole store, oldest first.",
          .options = {{"--limit", "N", "the newest N, 1 to 10000; default 100"}},
          .examples = {{"fenceline trail --limit 20", "the last twenty acts"}},
          .run = run};
}

}  // namespace fenceline::cli
