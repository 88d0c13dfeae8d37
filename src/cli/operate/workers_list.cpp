// fenceline workers list: who says that it works here. For people; no lease depends on it.
#include <algorithm>

#include "base/duration_text.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/commands.hpp"
#include "cli/operate/workers.hpp"

namespace fenceline::cli {
namespace {

Json holdings_json(const std::vector<Holding>& holdings) {
  Json list = Json::array();
  for (const Holding& held : holdings) list.push_back({{"job", to_string(held.id)}, {"fence", held.fence}});
  return list;
}

Json as_json(const WorkerRow& row, const RunningByOwner& running) {
  return {{"owner", row.report.owner},
          {"host", row.report.host},
          {"pid", row.report.pid},
          {"version", row.report.version},
          {"queues", row.report.queues},
          {"stage", row.report.stage},
          {"concurrency", row.report.concurrency},
          {"ttl_ms", std::chrono::floor<std::chrono::milliseconds>(row.report.ttl).count()},
          {"started_at", format_time(row.started_at)},
          {"seen_at", format_time(row.seen_at)},
          {"order", to_string(row.order)},
          {"gone", is_gone(row)},
          {"running", holdings_json(runs_of(row, running))},
          {"holding", holdings_json(row.report.holding)}};
}

// A whole time stamp would be cut beside an owner: people get how long ago it was.
std::string seen(const WorkerRow& row) {
  if (!stdout_is_terminal()) return format_time(row.seen_at);
  if (was_seen_ahead(row)) return format_duration(std::chrono::floor<std::chrono::seconds>(-row.unseen)) + " ahead";
  const auto ago = std::chrono::floor<std::chrono::seconds>(std::max(Duration{0}, row.unseen));
  return format_duration(ago) + " ago";
}

Cell order_cell(const WorkerRow& row) {
  if (is_gone(row)) return {"gone", Tone::faint};
  return {std::string(to_string(row.order)), row.order == WorkerOrder::work ? Tone::plain : Tone::warning};
}

Result<int> run_workers_list(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<WorkerRow>> rows = (*store)->workers(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  const Result<RunningByOwner> running = read_running(**store, invocation.ns);
  if (!running) return std::unexpected(running.error());
  if (!invocation.json) {
    print_list(worker_table(*rows, *running), "no workers; start one with: fenceline work QUEUE -- CMD");
    return kExitOk;
  }
  Json workers = Json::array();
  for (const WorkerRow& row : *rows) workers.push_back(as_json(row, *running));
  print_line(Json{{"workers", workers}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  return kExitOk;
}

}  // namespace

const std::vector<Holding>& runs_of(const WorkerRow& row, const RunningByOwner& running) {
  static const std::vector<Holding> none;
  const auto found = running.find(row.report.owner);
  return found == running.end() ? none : found->second;
}

Table worker_table(const std::vector<WorkerRow>& rows, const RunningByOwner& running) {
  Table table{{{.name = "owner", .whole = true},
               {.name = "host", .spare = true},
               {"pid", false, true},
               {"version", true},
               {"queues"},
               {"stage", true},
               {"concurrency", true, true},
               {"ttl", true, true},
               {"started_at", true},
               {"seen_at"},
               {"order"},
               {"running", false, true}},
              {}};
  for (const WorkerRow& row : rows) {
    const WorkerReport& report = row.report;
    table.rows.push_back({report.owner, report.host, std::to_string(report.pid), report.version, joined(report.queues),
                          report.stage, std::to_string(report.concurrency), format_duration(report.ttl),
                          format_time(row.started_at), seen(row), order_cell(row),
                          std::to_string(runs_of(row, running).size())});
  }
  return table;
}

std::string worker_json(const WorkerRow& row, const RunningByOwner& running) {
  return as_json(row, running).dump(-1, ' ', false, Json::error_handler_t::replace);
}

CommandSpec workers_list_command() {
  return {.name = "workers list",
          .summary = "List workers, and how many jobs each runs",
          .sections = {{"Columns",
                        {{"order",
                          "work, quiet or stop, as 'workers quiet', 'stop' and 'resume' set it; gone: not seen for "
                          "longer than its ttl"},
                         {"running", "jobs that it runs now, by the store: those with a live lease of this worker"},
                         {"holding", "(--json) jobs that it reported when last seen (every third of its ttl)"}}}},
          .examples = {{"fenceline workers list", "all workers"},
                       {"fenceline workers list --json | jq '.workers[].pid'", "their processes"}},
          .run = run_workers_list};
}

}  // namespace fenceline::cli
