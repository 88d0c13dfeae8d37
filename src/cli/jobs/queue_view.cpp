#include "cli/jobs/queue_view.hpp"

#include <algorithm>

#include "base/duration_text.hpp"
#include "base/nearest.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/pipeline_view.hpp"

namespace fenceline::cli {
namespace {

constexpr std::array kStates{JobState::ready, JobState::running, JobState::waiting,
                             JobState::done,  JobState::dead,    JobState::cancelled};

// What is not counted to its end says so.
std::string not_due(const QueueRow& row) { return std::to_string(row.ahead) + (row.ahead == kAheadCounted ? "+" : ""); }

// In a column of a table there is room for who and when; the reason follows as far as it goes.
std::string pause_words(const std::optional<QueuePause>& pause, std::optional<WallTime> now) {
  if (!pause) return "";
  const std::string since = now ? " " + short_time(pause->at, *now) : " since " + format_time(pause->at);
  return "by " + pause->by + since + (pause->reason.empty() ? "" : ": " + pause->reason);
}

std::vector<Cell> queue_row_cells(const QueueRow& row, std::optional<WallTime> now) {
  std::vector<Cell> out{row.queue};
  for (const JobState state : kStates) {
    const std::int64_t depth = row.depth_of(state);
    out.push_back({std::to_string(depth), state == JobState::dead && depth > 0 ? Tone::bad : Tone::plain});
    if (state == JobState::ready) out.push_back(not_due(row));
  }
  out.insert(out.end(), {or_empty(row.settings.limit),
                         or_empty(row.settings.limit_per_key),
                         format_duration(row.settings.keep_done),
                         format_duration(row.settings.keep_dead),
                         row.oldest_ready_at ? format_time(*row.oldest_ready_at) : "",
                         {pause_words(row.paused, now), Tone::warning}});
  return out;
}

// Where no job waits for a person, on a terminal that place is better used.
std::vector<Column> queue_row_columns(bool some_wait) {
  std::vector<Column> out{{.name = "queue", .whole = true}};
  for (const JobState state : kStates) {
    out.push_back(
        {.name = std::string(to_string(state)), .wide_only = state == JobState::waiting && !some_wait, .right = true});
    if (state == JobState::ready) out.push_back({.name = "not_due", .right = true});
  }
  out.insert(out.end(), {{.name = "limit", .right = true, .spare = true},
                         {.name = "limit_per_key", .right = true, .spare = true},
                         {.name = "keep_done", .wide_only = true},
                         {.name = "keep_dead", .wide_only = true},
                         {.name = "oldest_ready_at", .wide_only = true},
                         {.name = "paused"}});
  return out;
}

Result<void> count_approvals(const Invocation& invocation, Store& store, const StageNames& stages, QueueRow& row) {
  const WallTime now = invocation.runtime->wall_now();
  for (const JobState state : {JobState::ready, JobState::running}) {
    JobsRequest request{.ns = invocation.ns, .queue = row.queue, .state = state, .limit = kJobsPageMax};
    for (std::int64_t looked = 0; looked < kAheadCounted;) {
      const Result<JobsReply> page = store.jobs(request);
      if (!page) return std::unexpected(page.error());
      for (const Job& job : page->jobs) {
        if (stages.shown_state(job.queue, job.stage, job.state) == state) continue;
        std::int64_t& counted = row.depth[static_cast<std::size_t>(state)];
        counted = std::max<std::int64_t>(0, counted - 1);
        row.depth[static_cast<std::size_t>(JobState::waiting)] += 1;
        if (state == JobState::ready && job.run_at > now && row.ahead > 0 && row.ahead < kAheadCounted) row.ahead -= 1;
      }
      looked += static_cast<std::int64_t>(page->jobs.size());
      if (!page->next) break;
      request.after = *page->next;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<QueueRow>> shown_queues(const Invocation& invocation, Store& store) {
  Result<std::vector<QueueRow>> rows = store.queues(invocation.ns);
  if (!rows) return rows;
  const StageNames stages(store, invocation.ns);
  for (QueueRow& row : *rows) {
    if (!stages.has_approvals(row.queue)) continue;
    if (auto ok = count_approvals(invocation, store, stages, row); !ok) return std::unexpected(ok.error());
  }
  return rows;
}

std::string queue_json(const QueueRow& row) {
  Json paused = nullptr;
  if (row.paused)
    paused = {{"by", row.paused->by}, {"at", format_time(row.paused->at)}, {"reason", row.paused->reason}};
  Json out{{"queue", row.queue}};
  for (const JobState state : kStates) {
    out[std::string(to_string(state))] = row.depth_of(state);
    if (state == JobState::ready) out["not_due"] = row.ahead;
  }
  out["limit"] = row.settings.limit;
  out["limit_per_key"] = row.settings.limit_per_key;
  out["keep_done_ms"] = whole_milliseconds(row.settings.keep_done);
  out["keep_dead_ms"] = whole_milliseconds(row.settings.keep_dead);
  out["oldest_ready_at"] = row.oldest_ready_at ? Json(format_time(*row.oldest_ready_at)) : Json(nullptr);
  out["paused"] = paused;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table queue_table(const std::vector<QueueRow>& rows, std::optional<WallTime> now) {
  Table table{queue_row_columns(
                  std::ranges::any_of(rows, [](const QueueRow& row) { return row.depth_of(JobState::waiting) > 0; })),
              {}};
  for (const QueueRow& row : rows) table.rows.push_back(queue_row_cells(row, now));
  return table;
}

Table queue_card(const QueueRow& row) {
  Table table{{{.name = "field", .whole = true}, {.name = "value", .whole = true}}, {}};
  const std::vector<Cell> values = queue_row_cells(row, std::nullopt);
  const std::vector<Column> names = queue_row_columns(true);
  for (std::size_t i = 0; i < names.size(); ++i) table.rows.push_back({names[i].name, values[i]});
  return table;
}

Result<QueueRow> find_queue(const Invocation& invocation, Store& store) {
  return find_queue(invocation, store, invocation.argument("QUEUE"));
}

Result<QueueRow> find_queue(const Invocation& invocation, Store& store, const std::string& queue) {
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
