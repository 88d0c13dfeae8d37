// Takes the bytes of a history as they come and gives its events with the numbers of their lines, in constant memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "history/format/event.hpp"

namespace fenceline::history {

class EventReader {
 public:
  using Take = std::function<void(Event, std::int64_t line)>;

  // `name` opens the message of an error: "run.jsonl, line 17: ...".
  EventReader(std::string name, Take take) : name_(std::move(name)), take_(std::move(take)) {}

  // Errors: invalid; then the rest is not read.
  Result<void> feed(std::string_view bytes);
  // The end of the file. A last line without its end was torn by a crash: it is counted, and left out. Errors: invalid
  // (nothing was there).
  Result<void> end();

  std::int64_t lines() const { return line_; }
  bool torn() const { return torn_; }

 private:
  Result<void> take_line(std::string_view line);

  std::string name_;
  Take take_;
  std::string rest_;  // of a line that is not whole yet
  std::int64_t line_ = 0;
  bool torn_ = false;
};

}  // namespace fenceline::history
