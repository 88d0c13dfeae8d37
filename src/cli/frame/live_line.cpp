#include "cli/frame/live_line.hpp"

#include <algorithm>
#include <utility>

#include "cli/frame/columns.hpp"

namespace fenceline::cli {

std::string LiveLine::above(std::string_view lines, int width) {
  std::string out = erase(width);
  out += lines;
  return out + draw(width);
}

std::string LiveLine::show(std::string text, int width) {
  std::string out = erase(width);
  text_ = std::move(text);
  return out + draw(width);
}

// Terminals wrap what became too long for them when their window shrinks.
std::string LiveLine::erase(int width) const {
  if (drawn_ == 0) return "";
  std::string out = "\r";
  for (int rows = (drawn_ - 1) / std::max(1, width); rows > 0; --rows) out += "\x1b[A";
  return out + "\x1b[J";
}

// One column is left free: a cursor behind the last one may stand in the next row. Wrapping is off meanwhile: a window
// that just shrank may not have told its width yet.
std::string LiveLine::draw(int width) {
  const std::string shown = cut_to_columns(text_, std::max(1, width - 1));
  drawn_ = columns_of(shown);
  return shown.empty() ? "" : "\x1b[?7l" + shown + "\x1b[?7h";
}

}  // namespace fenceline::cli
