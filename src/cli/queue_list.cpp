// fenceline queue list and queue show: how many jobs are where, and what was set.
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/queue_view.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_list(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<QueueRow>> rows = (*store)->queues(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  if (!invocation.json) {
    print_table(queue_table(*rows));
    return kExitOk;
  }
  std::string list;
  for (const QueueRow& row : *rows) list += (list.empty() ? "" : ",") + queue_json(row);
  print_line("{\"queues\":[" + list + "]}");
  return kExitOk;
}

Result<int> run_show(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<QueueRow> row = find_queue(invocation, **store);
  if (!row) return std::unexpected(row.error());
  if (invocation.json) print_line(queue_json(*row));
  else print_card(queue_card(*row));
  return kExitOk;
}

}  // namespace

CommandSpec queue_list_command() {
  return {.name = "queue list",
          .summary = "Lists queues: how many jobs are in which state, what was set, who paused them.",
          .examples = {{"fenceline queue list", "where does work pile up?"},
                       {"fenceline queue list --json | jq '.queues[] | select(.dead > 0)'", "queues with dead jobs, for a script"}},
          .run = run_list};
}

CommandSpec queue_show_command() {
  return {.name = "queue show",
          .summary = "Shows one queue: its jobs by state and its settings.",
          .arguments = {{"QUEUE", "its name"}},
          .examples = {{"fenceline queue show mail", "one queue"}},
          .run = run_show};
}

}  // namespace fenceline::cli
