// The last line of a terminal, redrawn below all others: what is written meanwhile scrolls by above it.
#pragma once

#include <string>
#include <string_view>

namespace fenceline::cli {

// Makes the bytes that a terminal gets; writes nothing itself. `width` is the terminal's at that moment: after a resize
// the line that stands there may take several rows, and all of them go.
class LiveLine {
 public:
  // Whole lines above it.
  std::string above(std::string_view lines, int width);
  // Another text for it; an empty one takes it away.
  std::string show(std::string text, int width);

 private:
  std::string erase(int width) const;
  std::string draw(int width);

  std::string text_;
  int drawn_ = 0;  // columns of what stands there
};

}  // namespace fenceline::cli
