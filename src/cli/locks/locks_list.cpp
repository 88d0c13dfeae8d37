// fenceline locks list and locks show: the inventory of locks.
#include <utility>

#include "cli/frame/output.hpp"
#include "cli/frame/pages.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/gates.hpp"
#include "cli/locks/lock_view.hpp"

namespace fenceline::cli {
namespace {

ShownLock with_gates(const Invocation& invocation, LockRow row) {
  ShownLock shown{std::move(row), std::nullopt};
  shown.outside = seen_in_folder(invocation, shown.row.resource);
  return shown;
}

Result<LocksRequest> locks_request(const Invocation& invocation) {
  LocksRequest request{.ns = invocation.ns,
                       .prefix = invocation.value("--prefix").value_or(""),
                       .held = invocation.has("--held"),
                       .after = invocation.value("--after").value_or("")};
  const Result<int> limit = page_limit(invocation);
  if (!limit) return std::unexpected(limit.error());
  request.limit = *limit;
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return request;
}

std::string none_of(const LocksRequest& request) {
  if (!request.after.empty()) return "no more locks";
  return request.held || !request.prefix.empty() ? "no locks match" : "no locks";
}

Result<int> run_locks_list(Invocation& invocation) {
  Result<LocksRequest> request = locks_request(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  return print_pages(
      invocation, {.list = "locks", .none = [&] { return none_of(*request); }}, request->after,
      [&] { return (*store)->locks(*request); }, &LocksReply::locks,
      [&](const std::vector<LockRow>& rows) {
        std::vector<ShownLock> shown;
        for (const LockRow& row : rows) shown.push_back(with_gates(invocation, row));
        return lock_table(shown, invocation.runtime->wall_now());
      },
      [&](const LockRow& row) { return lock_json(with_gates(invocation, row)); });
}

Result<int> run_locks_show(Invocation& invocation) {
  const std::string resource = invocation.argument("RESOURCE");
  if (auto ok = check_lock_resource(resource); !ok) return std::unexpected(ok.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::optional<LockRow>> row = (*store)->lock(invocation.ns, resource);
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return fail(Code::not_found,
                "no lock " + resource + " is known in namespace " + invocation.ns +
                    ": it was never held, or has been free for long; 'fenceline locks list' lists the locks");
  const ShownLock shown = with_gates(invocation, **row);
  if (invocation.json) print_line(lock_json(shown));
  else print_card(lock_card(shown, invocation.runtime->wall_now()));
  return kExitOk;
}

SectionSpec field_section() {
  return {"Fields",
          {{"state",
            "held: the lease is alive (a loop window counts after its command ended); expired: the lease expired and "
            "no one has taken over; resting: released, but not available yet (--hold-at-least, --delay); free"},
           {"pattern", "as set by its last holder: item, loop, fenced, layered, election, or its own"},
           {"holder", "HOST:PID of the holder; its owner if unknown"},
           {"fence", "the newest fence"},
           {"age", "time since the grant"},
           {"free_in", "time until another may have it, if it is not renewed"},
           {"at_gate",
            "whether a gate has seen its fence, in the store or in the folder of gates, which also knows the files of "
            "'gate put': newest, older, never; ahead: the store was restored to an older state, and 'fenceline locks "
            "show' names the remedy"}}};
}

}  // namespace

CommandSpec locks_list_command() {
  return {.name = "locks list",
          .summary = "List locks: holders, fences, waiters",
          .details = "Also shows whether a gate has seen the lock's fence.",
          .options = {{"--held", "", "only locks that are held or not available yet"},
                      {"--prefix", "TEXT", "only locks whose name starts with this"},
                      {"--limit", "N", "page size, 1 to 1000; default 100"},
                      {"--after", "RESOURCE", "continue after a page: its 'next'"},
                      {"--all", "", "all pages"},
                      gates_option()},
          .sections = {field_section(),
                       {"What is not listed",
                        {{"free for long",
                          "a lock that has been free for half an hour is removed; its fences still keep growing"}}}},
          .examples = {{"fenceline locks list --held", "locks held now"},
                       {"fenceline locks list --all --json | jq '.locks[] | select(.at_gate==\"never\")'",
                        "locks whose fence guards nothing yet"}},
          .run = run_locks_list};
}

CommandSpec locks_show_command() {
  return {.name = "locks show",
          .summary = "Show one lock: holders, and waiters in order",
          .arguments = {{.name = "RESOURCE", .help = "name of the lock; NAME#2 and so on for one of several slots"}},
          .options = {gates_option()},
          .sections = {field_section(), {"Exit status", {{"66", "unknown lock: never held, or free for long"}}}},
          .examples = {{"fenceline locks show deploy", "who has it, since when, who comes next"}},
          .run = run_locks_show};
}

}  // namespace fenceline::cli
