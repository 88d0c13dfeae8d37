// One line on stderr that is redrawn while something takes long, if a person looks on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::cli {

// "[#####...............]  25%  1500 jobs, 500/s, 9s left" or, if the total is unknown, "1500 jobs, 500/s".
// `done` is 0 to 1. At most 79 characters.
std::string progress_text(const std::string& things, std::int64_t count, std::optional<double> done, Duration elapsed);

// Silent for the first two seconds, and always if stderr is not a terminal. For one thread.
class ProgressBar {
 public:
  ProgressBar(Runtime& runtime, std::string things);

  void show(std::int64_t count, std::optional<double> done = std::nullopt);
  // Ends the line, so that words may follow. More may be shown after it.
  void end();

 private:
  Runtime& runtime_;
  const std::string things_;
  const Instant began_;
  const bool wanted_;
  Instant next_;
  std::size_t width_ = 0;  // of the text on screen; 0: none
};

}  // namespace fenceline::cli
