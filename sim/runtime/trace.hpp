// What happened, one line an event, for `fenceline sim --trace`. The same seed writes the same bytes: no
// pointers, no real time, nothing from an unordered container.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"

namespace fenceline::sim {

class Trace {
 public:
  explicit Trace(bool on) : on_(on) {}

  // Building a line costs more than writing it: ask first.
  bool on() const { return on_; }

  // "12.000345 worker-1 what"
  void write(Instant true_time, std::string_view who, std::string_view what);

  const std::string& text() const { return text_; }

 private:
  bool on_;
  std::string text_;
};

}  // namespace fenceline::sim
