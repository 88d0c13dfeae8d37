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
  shown.seen_in_folder = seen_in_folder(invocation, shown.row.resource);
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

Result<int> run_locks_list(Invocation& invocation) {
  Result<LocksRequest> request = locks_request(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  return print_pages(
      invocation, {.list = "locks"}, request->after, [&] { return (*store)->locks(*request); }, &LocksReply::locks,
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
    return fail(Code::not_found, "no lock " + resource + " is known in namespace " + invocation.ns +
                                     ": never held, or free for long; 'fenceline locks list' names them");
  const ShownLock shown = with_gates(invocation, **row);
  if (invocation.json) print_line(lock_json(shown));
  else print_card(lock_card(shown, invocation.runtime->wall_now()));
  return kExitOk;
}

SectionSpec field_section() {
  return {
      "Fields",
      {{"state",
        "held: a lease is alive, that of a window (loop) too though its command is done; expired: a lease ran out and "
        "nobody took over; resting: it is held no more and nobody gets it yet (--hold-at-least, --delay); free"},
       {"pattern", "what its last holder said: item, loop, fenced, layered, election, or its own"},
       {"holder", "where the holder is, HOST:PID; its owner if it did not say"},
       {"fence", "the newest"},
       {"age", "since the grant"},
       {"free_in", "until somebody else may have it, should nobody renew"},
       {"at_gate",
        "whether a fence of it was ever seen at a gate, in the store or in the folder of gates (what gate put keeps "
        "beside its file is not looked at): newest, older or never"}}};
}

}  // namespace

CommandSpec locks_list_command() {
  return {.name = "locks list",
          .summary = "List locks: holders, fences, waiters",
          .details = "Also shows whether a gate has seen the lock's fence.",
          .options = {{"--held", "", "only those that somebody holds, or that nobody may have yet"},
                      {"--prefix", "TEXT", "only those whose name begins so"},
                      {"--limit", "N", "how many, 1 to 1000; default 100"},
                      {"--after", "RESOURCE", "go on where a page ended: its 'next'"},
                      {"--all", "", "every page"},
                      gates_option()},
          .sections =
              {field_section(),
               {"What is not listed",
                {{"free for long",
                  "a lock that has been free for half an hour leaves nothing behind, but its fences go on growing"}}}},
          .examples = {{"fenceline locks list --held", "what is locked now"},
                       {"fenceline locks list --all --json | jq '.locks[] | select(.at_gate==\"never\")'",
                        "locks whose fence guards nothing yet"}},
          .run = run_locks_list};
}

CommandSpec locks_show_command() {
  return {
      .name = "locks show",
      .summary = "Show one lock: holders, and waiters in order",
      .arguments = {{.name = "RESOURCE",
                     .help = "the lock's name; with #2 and so on behind it, a slot of a lock that several may have"}},
      .options = {gates_option()},
      .sections = {field_section(), {"Exit status", {{"66", "nothing is known of it: never held, or free for long"}}}},
      .examples = {{"fenceline locks show deploy", "who has it, since when, who comes next"}},
      .run = run_locks_show};
}

}  // namespace fenceline::cli
