#include "cli/operate/top_view.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "cli/frame/acts.hpp"
#include "cli/frame/columns.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/top_sheets.hpp"

namespace fenceline::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr int kHeadLines = 2;
constexpr int kFootLines = 2;
constexpr std::array<TopPane, 5> kPanes{TopPane::queues, TopPane::workers, TopPane::locks, TopPane::schedules,
                                        TopPane::findings};

std::string bold(const std::string& text, bool colour) { return colour ? "\x1b[1m" + text + "\x1b[0m" : text; }
std::string alarming(const std::string& text, bool colour) { return colour ? "\x1b[1;31m" + text + "\x1b[0m" : text; }

Lines split(const std::string& text) {
  Lines lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

// Two lines: of what, and how much of it.
Lines head(const TopState& state, const TopModel& model, bool colour) {
  std::string first = bold("fenceline top", colour);
  if (model.paused) first += "  " + bold("[paused: p]", colour);
  if (!model.filter.empty() && !model.typing) first += "  " + bold("[only /" + printable(model.filter) + "]", colour);
  first += "  " + format_time(state.at).substr(11, 8) + "Z  namespace " + printable(state.ns) + "  class " +
           state.guarantee + "  " + printable(state.store);
  if (!state.away.empty())
    return {alarming("the store has been unreachable since " + format_time(state.at).substr(11, 8) +
                         "Z: " + printable(one_line(state.away)),
                     colour),
            first};
  std::array<std::int64_t, 6> depth{};
  for (const QueueRow& row : state.queues)
    for (std::size_t i = 0; i < depth.size(); ++i) depth[i] += row.depth[i];
  const auto of = [&](JobState job) { return std::to_string(depth[static_cast<std::size_t>(job)]); };
  std::int64_t waiters = 0;
  for (const LockRow& row : state.locks) waiters += row.waiters_count;
  return {first, "jobs " + of(JobState::ready) + " ready " + of(JobState::running) + " running " +
                     of(JobState::waiting) + " waiting " + of(JobState::dead) + " dead; " +
                     counted(static_cast<std::int64_t>(state.workers.size()), "worker") + "; " +
                     counted(static_cast<std::int64_t>(state.locks.size()), "lock") + ", " +
                     counted(waiters, "waiter") + (state.cut ? "; not everything is shown" : "")};
}

Lines help() {
  return {"keys",
          "  q         quit, as Ctrl-C does",
          "  1 to 5    show one pane: queues, workers, locks, schedules, findings",
          "  0, Esc    show all panes",
          "  tab       show the next pane",
          "  up, down  select a row; the command to act on it is shown below. Also",
          "            j, k, PgUp, PgDn, Home, End",
          "  s         change the order",
          "  /         filter by the text you type; Esc ends it",
          "  p         pause and resume the display",
          "",
          "This view changes nothing: run the commands that it shows.",
          "Press any key to go back."};
}

std::string title(const Sheet& sheet, std::size_t shown, bool colour) {
  std::string text = std::to_string(static_cast<int>(sheet.pane)) + " " + sheet.name + "  ";
  if (sheet.rows.empty()) return bold(text, colour) + sheet.none;
  text += shown < sheet.rows.size() ? std::to_string(shown) + " of " + std::to_string(sheet.rows.size())
                                    : std::to_string(sheet.rows.size());
  return bold(text, colour) + ", by " + sheet.order;
}

// Its title and `rows` of its rows from `from` on; `pointed`: the row that is pointed at, if any.
Lines body_of(const Sheet& sheet, std::size_t from, std::size_t rows, std::optional<std::size_t> pointed,
              const TopRoom& room) {
  const std::size_t end = std::min(sheet.rows.size(), from + rows);
  Lines lines{title(sheet, end - std::min(from, end), room.colour)};
  if (end <= from) return lines;
  Table table{{{.name = ""}}, {}};
  table.columns.insert(table.columns.end(), sheet.columns.begin(), sheet.columns.end());
  for (std::size_t i = from; i < end; ++i) {
    table.rows.push_back({Cell(pointed == i ? ">" : " ")});
    table.rows.back().insert(table.rows.back().end(), sheet.rows[i].cells.begin(), sheet.rows[i].cells.end());
  }
  for (std::string& line : split(render_columns(table, room.width, room.colour))) lines.push_back(std::move(line));
  return lines;
}

// All panes, each with as many rows as there is room for: what is wrong first, then one after the other.
Lines all_panes(const std::vector<Sheet>& sheets, int height, const TopRoom& room) {
  std::vector<std::size_t> rows(sheets.size(), 0);
  int left = height - static_cast<int>(sheets.size());
  std::vector<std::size_t> turns(sheets.size());
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i] = (i + sheets.size() - 1) % sheets.size();
  for (bool gave = true; gave;) {
    gave = false;
    for (const std::size_t i : turns) {
      const int costs = rows[i] == 0 ? 2 : 1;  // with its header
      if (rows[i] >= sheets[i].rows.size() || left < costs) continue;
      left -= costs;
      ++rows[i];
      gave = true;
    }
  }
  Lines lines;
  for (std::size_t i = 0; i < sheets.size(); ++i) {
    const bool spare = i > 0 && left >= 1;
    if (spare) {
      lines.emplace_back();
      --left;
    }
    for (std::string& line : body_of(sheets[i], 0, rows[i], std::nullopt, room)) lines.push_back(std::move(line));
  }
  return lines;
}

// Rows so that the one that is pointed at is among them.
Lines one_pane(const Sheet& sheet, int cursor, int height, const TopRoom& room) {
  const auto rows = static_cast<std::size_t>(std::max(1, height - 2));
  const auto at = static_cast<std::size_t>(std::clamp(cursor, 0, std::max(0, static_cast<int>(sheet.rows.size()) - 1)));
  const std::size_t from = at < rows ? 0 : at - rows + 1;
  return body_of(sheet, from, rows, at, room);
}

// What can be done about what is pointed at, or, where nothing is, about the worst that was found.
std::string advice(const TopState& state, const TopModel& model, const std::vector<Sheet>& sheets) {
  if (model.pane != TopPane::all) {
    const Sheet& sheet = sheets.front();
    if (sheet.rows.empty()) return "";
    return sheet.rows[static_cast<std::size_t>(std::clamp(model.cursor, 0, static_cast<int>(sheet.rows.size()) - 1))]
        .advice;
  }
  const auto worst = std::ranges::max_element(state.findings, {}, &Finding::status);
  return worst == state.findings.end() || worst->status == FindingStatus::ok ? "" : worst->remedy;
}

std::string keys_line(const TopModel& model) {
  if (model.typing) return "filter: /" + printable(model.filter) + "_";
  return "q quit  ? help  p pause  / filter  tab 1-5 panes  s sort";
}

}  // namespace

int top_rows(const TopState& state, const TopModel& model) {
  return model.pane == TopPane::all ? 0 : static_cast<int>(sheet_of(state, model, model.pane).rows.size());
}

std::vector<std::string> top_lines(const TopState& state, const TopModel& model, const TopRoom& room) {
  const bool endless = room.height == 0;
  Lines lines = head(state, model, room.colour);
  const int height = endless ? 1'000'000 : std::max(0, room.height - kHeadLines - kFootLines);
  std::vector<Sheet> sheets;
  if (model.pane == TopPane::all) {
    for (const TopPane pane : kPanes) sheets.push_back(sheet_of(state, model, pane));
  } else {
    sheets.push_back(sheet_of(state, model, model.pane));
  }
  Lines body = model.help                   ? help()
               : model.pane == TopPane::all ? all_panes(sheets, height, room)
                                            : one_pane(sheets.front(), model.cursor, height, room);
  if (!endless) body.resize(static_cast<std::size_t>(height));
  lines.insert(lines.end(), body.begin(), body.end());
  const std::string what_to_do = state.pasted(advice(state, model, sheets));
  if (!endless || !what_to_do.empty()) lines.push_back(what_to_do.empty() ? "" : "try: " + printable(what_to_do));
  if (!endless) lines.push_back(keys_line(model));
  for (std::string& line : lines) line = cut_to_columns(line, room.width);
  if (!endless) lines.resize(static_cast<std::size_t>(std::max(1, room.height)));
  return lines;
}

}  // namespace fenceline::cli
