#include "cli/queue_view.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/duration_text.hpp"
#include "cli/nearest.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kStates{JobState::ready, JobState::running, JobState::waiting, JobState::done, JobState::dead, JobState::cancelled};

std::int64_t milliseconds(Duration duration) { return std::chrono::floor<std::chrono::milliseconds>(duration).count(); }

std::string or_none(int limit) { return limit == 0 ? "" : std::to_string(limit); }

std::string pause_words(const std::optional<QueuePause>& pause) {
  if (!pause) return "";
  return "by " + pause->by + " since " + format_time(pause->at) + (pause->reason.empty() ? "" : ": " + pause->reason);
}

std::vector<Cell> cells(const QueueRow& row) {
  std::vector<Cell> out{row.queue};
  for (const JobState state : kStates) {
    const std::int64_t depth = row.depth_of(state);
    out.push_back({std::to_string(depth), state == JobState::dead && depth > 0 ? Tone::bad : Tone::plain});
  }
  out.insert(out.end(), {or_none(row.settings.limit), or_none(row.settings.limit_per_key), format_duration(row.settings.keep_done),
                         format_duration(row.settings.keep_dead), row.oldest_ready_at ? format_time(*row.oldest_ready_at) : "",
                         {pause_words(row.paused), Tone::warning}});
  return out;
}

std::vector<Column> columns() {
  std::vector<Column> out{{.name = "queue", .whole = true}};
  for (const JobState state : kStates) out.push_back({.name = std::string(to_string(state)), .right = true});
  out.insert(out.end(), {{.name = "limit", .right = true, .spare = true},
                         {.name = "limit_per_key", .right = true, .spare = true},
                         {.name = "keep_done", .wide_only = true},
                         {.name = "keep_dead", .wide_only = true},
                         {.name = "oldest_ready_at", .wide_only = true},
                         {.name = "paused"}});
  return out;
}

}  // namespace

std::string queue_json(const QueueRow& row) {
  Json paused = nullptr;
  if (row.paused) paused = {{"by", row.paused->by}, {"at", format_time(row.paused->at)}, {"reason", row.paused->reason}};
  Json out{{"queue", row.queue}};
  for (const JobState state : kStates) out[std::string(to_string(state))] = row.depth_of(state);
  out["limit"] = row.settings.limit;
  out["limit_per_key"] = row.settings.limit_per_key;
  out["keep_done_ms"] = milliseconds(row.settings.keep_done);
  out["keep_dead_ms"] = milliseconds(row.settings.keep_dead);
  out["oldest_ready_at"] = row.oldest_ready_at ? Json(format_time(*row.oldest_ready_at)) : Json(nullptr);
  out["paused"] = paused;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table queue_table(const std::vector<QueueRow>& rows) {
  Table table{columns(), {}};
  for (const QueueRow& row : rows) table.rows.push_back(cells(row));
  return table;
}

Table queue_card(const QueueRow& row) {
  Table table{{{.name = "field", .whole = true}, {.name = "value", .whole = true}}, {}};
  const std::vector<Cell> values = cells(row);
  const std::vector<Column> names = columns();
  for (std::size_t i = 0; i < names.size(); ++i) table.rows.push_back({names[i].name, values[i]});
  return table;
}

Result<QueueRow> find_queue(const Invocation& invocation, Store& store) {
  const std::string queue = invocation.argument("QUEUE");
  if (auto ok = check_name("queue", queue); !ok) return std::unexpected(ok.error());
  const Result<std::vector<QueueRow>> rows = store.queues(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  const auto found = std::ranges::find(*rows, queue, &QueueRow::queue);
  if (found != rows->end()) return *found;
  std::vector<std::string> names;
  for (const QueueRow& row : *rows) names.push_back(row.queue);
  const std::optional<std::string> near = nearest(queue, names);
  return fail(Code::not_found, "no queue " + queue + " in namespace " + invocation.ns + "; " +
                                   (near ? "did you mean '" + *near + "'?" : "'fenceline queue list' names them"));
}

}  // namespace fenceline::cli
