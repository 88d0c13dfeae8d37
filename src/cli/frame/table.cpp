#include "cli/frame/table.hpp"

#include <algorithm>
#include <numeric>

#include "cli/frame/columns.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowest = 8;  // a column is not cut below it: an overlong line is better than an empty one
constexpr int kRoomy =
    100;  // from here on spare columns are shown; not by what the rows hold, which differs from page to page

// Takes from the widest column that may be cut, one character at a time, until the line fits.
void shrink(std::vector<int>& widths, const std::vector<bool>& whole, int width) {
  const auto line = [&] {
    return std::accumulate(widths.begin(), widths.end(), 0) + kGap * (static_cast<int>(widths.size()) - 1);
  };
  while (line() > width) {
    int* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!whole[i] && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr || *widest <= kNarrowest) return;
    --*widest;
  }
}

const std::string& on_terminal(const Cell& cell) { return cell.brief.empty() ? cell.text : cell.brief; }

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\\': out += "\\\\"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "";
    case Tone::good: return "\x1b[32m";
    case Tone::warning: return "\x1b[33m";
    case Tone::bad: return "\x1b[31m";
    case Tone::faint: return "\x1b[2m";
  }
  return "";
}

std::string render_columns(const Table& table, int width, bool colour, bool header) {
  std::vector<std::size_t> shown;
  std::vector<int> widths;
  std::vector<bool> whole;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].wide_only || (table.columns[i].spare && width < kRoomy)) continue;
    int widest = columns_of(table.columns[i].name);
    for (const auto& row : table.rows) widest = std::max(widest, columns_of(printable(on_terminal(row[i]))));
    shown.push_back(i);
    widths.push_back(widest);
    whole.push_back(table.columns[i].whole);
  }
  shrink(widths, whole, width);

  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::vector<std::vector<std::string>> lines;  // of each column
    std::size_t height = 1;
    for (std::size_t k = 0; k < shown.size(); ++k) {
      const std::string text = printable(on_terminal(cell_of(shown[k])));
      if (table.columns[shown[k]].wraps) lines.push_back(wrapped_to_columns(text, widths[k]));
      else lines.push_back({cut_to_columns(text, widths[k])});
      height = std::max(height, lines.back().size());
    }
    for (std::size_t line_at = 0; line_at < height; ++line_at) {
      std::string line;
      for (std::size_t k = 0; k < shown.size(); ++k) {
        const std::string text = line_at < lines[k].size() ? lines[k][line_at] : "";
        const std::string space(static_cast<std::size_t>(std::max(0, widths[k] - columns_of(text))), ' ');
        const std::string_view on = colour && !text.empty() ? colour_of(cell_of(shown[k]).tone) : "";
        const std::string body = std::string(on) + text + (on.empty() ? "" : "\x1b[0m");
        const bool last = k + 1 == shown.size();
        line += table.columns[shown[k]].right ? space + body : body + (last ? "" : space);
        if (!last) line += std::string(kGap, ' ');
      }
      if (line_at > 0) line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  };
  if (header) add_line([&](std::size_t i) { return Cell(table.columns[i].name, Tone::faint); });
  for (const auto& row : table.rows) add_line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string render_tsv(const Table& table, bool header) {
  std::string out;
  for (std::size_t i = 0; header && i < table.columns.size(); ++i) out += (i == 0 ? "" : "\t") + table.columns[i].name;
  if (header) out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : "\t") + escaped(row[i].text);
    out += "\n";
  }
  return out;
}

bool print_table(const Table& table, bool header) {
  return print(stdout_is_terminal() ? render_columns(table, terminal_width(), colour_allowed(), header)
                                    : render_tsv(table, header));
}

bool print_list(const Table& table, std::string_view none) {
  if (!table.rows.empty()) return print_table(table);
  if (!stdout_is_terminal()) return print_table(table);
  flush_output();
  if (!none.empty()) tell("fenceline: " + std::string(none));
  return true;
}

bool print_card(Table card) {
  if (stdout_is_terminal()) {
    for (std::vector<Cell>& row : card.rows) {
      if (row.back().text.ends_with('\n')) row.back().text.pop_back();
    }
    std::erase_if(card.rows, [](const std::vector<Cell>& row) { return row.back().text.empty(); });
  }
  return print_table(card, false);
}

}  // namespace fenceline::cli
