// The screen of `fenceline top` as lines: a pure function of what there is, what was typed, and the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/operate/top_keys.hpp"
#include "cli/operate/top_state.hpp"

namespace fenceline::cli {

struct TopRoom {
  int width = 80;
  int height = 0;  // 0: as many lines as it takes
  bool colour = false;
};

// Number of rows in the current pane, after the filter; 0 if all panes are shown.
int top_rows(const TopState& state, const TopModel& model);

// No line is wider than the room, and there are no more than fit in; control characters of names are shown as '?'.
std::vector<std::string> top_lines(const TopState& state, const TopModel& model, const TopRoom& room);

}  // namespace fenceline::cli
