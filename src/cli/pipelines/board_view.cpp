#include "cli/pipelines/board_view.hpp"

#include <algorithm>
#include <array>

#include "cli/frame/job_ids.hpp"
#include "cli/frame/json.hpp"

namespace fenceline::cli {
namespace {

// What a column counts; a check that runs is still a wait.
constexpr std::array<std::string_view, 5> kCounted{"ready", "running", "waiting", "on_hold", "dead"};

std::int64_t count(const Board& board, const std::string& stage, std::string_view state) {
  return std::ranges::count_if(board.rows, [&](const BoardRow& row) {
    return row.stage == stage && (row.state == state || (state == "waiting" && row.state == "checking"));
  });
}

// Those of the pipeline, then what rows name beside them.
std::vector<std::string> all_stages(const Board& board) {
  std::vector<std::string> stages = board.stages;
  for (const BoardRow& row : board.rows) {
    if (std::ranges::find(stages, row.stage) == stages.end()) stages.push_back(row.stage);
  }
  return stages;
}

std::vector<const BoardRow*> by_stage(const Board& board) {
  const std::vector<std::string> stages = all_stages(board);
  std::vector<const BoardRow*> rows;
  for (const BoardRow& row : board.rows) rows.push_back(&row);
  const auto place = [&](const BoardRow* row) {
    return std::pair(std::ranges::find(stages, row->stage) - stages.begin(), !row->at_entry);
  };
  std::ranges::stable_sort(rows, {}, place);
  return rows;
}

Tone tone_of(const std::string& state) {
  if (state == "dead") return Tone::bad;
  if (state == "on_hold" || state == "waiting") return Tone::warning;
  return state == "done" ? Tone::good : state == "cancelled" ? Tone::faint : Tone::plain;
}

}  // namespace

std::string board_json(const Board& board) {
  Json stages = Json::array();
  for (const std::string& stage : all_stages(board)) {
    Json one{{"name", stage}};
    for (const std::string_view state : kCounted) one[std::string(state)] = count(board, stage, state);
    stages.push_back(std::move(one));
  }
  Json items = Json::array();
  for (const BoardRow* row : by_stage(board)) {
    items.push_back({{"id", row->id},
                     {"title", row->title},
                     {"stage", row->stage},
                     {"at_entry", row->at_entry},
                     {"state", row->state},
                     {"holder", row->holder},
                     {"waits_for", row->waits_for},
                     {"generation", row->generation},
                     {"returns", row->returns}});
  }
  return Json{{"pipeline", board.pipeline},   {"stages", stages}, {"done", board.done},
              {"cancelled", board.cancelled}, {"items", items},   {"more", board.more}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table board_summary(const Board& board) {
  Table table{{{.name = board.pipeline, .whole = true}}, {}};
  for (const std::string_view state : kCounted) table.columns.push_back({.name = std::string(state), .right = true});
  for (const std::string& stage : all_stages(board)) {
    std::vector<Cell> cells{stage};
    for (const std::string_view state : kCounted) {
      const std::int64_t number = count(board, stage, state);
      cells.push_back({std::to_string(number), number == 0 ? Tone::faint : tone_of(std::string(state))});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table board_table(const Board& board) {
  Table table{{{.name = "id", .whole = true},
               {.name = "stage"},
               {.name = "state"},
               {.name = "holder", .spare = true},
               {.name = "title", .wraps = true},
               {.name = "waits_for", .wraps = true}},
              {}};
  for (const BoardRow* row : by_stage(board)) {
    const std::optional<JobId> job = parse_uuid(row->id);  // else the number of an issue
    table.rows.push_back({job ? id_cell(*job) : Cell(row->id),
                          row->stage,
                          {row->state, tone_of(row->state)},
                          row->holder,
                          row->title,
                          row->waits_for});
  }
  return table;
}

}  // namespace fenceline::cli
