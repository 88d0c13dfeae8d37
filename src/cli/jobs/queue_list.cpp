// fenceline queue list and queue show: how many jobs are where, and what was set.
#include <algorithm>

#include "cli/frame/output.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/queue_view.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_queue_list(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<QueueRow>> rows = shown_queues(invocation, **store);
  if (!rows) return std::unexpected(rows.error());
  if (!invocation.json) {
    print_list(queue_table(*rows, stdout_is_terminal() ? std::optional(invocation.runtime->wall_now()) : std::nullopt),
               "no queues in namespace " + invocation.ns);
    return kExitOk;
  }
  std::string list;
  for (const QueueRow& row : *rows) list += (list.empty() ? "" : ",") + queue_json(row);
  print_line("{\"queues\":[" + list + "]}");
  return kExitOk;
}

Result<int> run_queue_show(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  Result<QueueRow> row = find_queue(invocation, **store);
  if (!row) return std::unexpected(row.error());
  const Result<std::vector<QueueRow>> shown = shown_queues(invocation, **store);
  if (!shown) return std::unexpected(shown.error());
  if (const auto same = std::ranges::find(*shown, row->queue, &QueueRow::queue); same != shown->end()) row = *same;
  if (invocation.json) print_line(queue_json(*row));
  else print_card(queue_card(*row));
  return kExitOk;
}

SectionSpec queue_columns() {
  return {"Numbers",
          {{"ready", "not started, or to be retried; blocked jobs included"},
           {"not_due", "ready jobs whose time has not come, by --delay, --at or a backoff; counted up to 10000"},
           {"oldest_ready_at", "how long the oldest of the others could have run"},
           {"running to cancelled", "see 'fenceline help jobs'"}}};
}

}  // namespace

CommandSpec queue_list_command() {
  return {.name = "queue list",
          .summary = "List queues with their job counts and settings",
          .details = "Shows how many jobs are in each state, what was set, and who paused the queue.",
          .sections = {queue_columns()},
          .examples = {{"fenceline queue list", "where is a backlog?"},
                       {"fenceline queue list --json | jq '.queues[] | select(.dead > 0)'",
                        "queues with dead jobs, for a script"}},
          .run = run_queue_list};
}

CommandSpec queue_show_command() {
  return {.name = "queue show",
          .summary = "Show one queue: jobs by state, and settings",
          .arguments = {{"QUEUE", "its name"}},
          .sections = {queue_columns()},
          .examples = {{"fenceline queue show mail", "one queue"}},
          .run = run_queue_show};
}

}  // namespace fenceline::cli
