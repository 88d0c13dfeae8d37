#include "history/format/event_reader.hpp"

#include <utility>

namespace fenceline::history {

Result<void> EventReader::take_line(std::string_view line) {
  line_ += 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  Result<Event> event = parse_line(line);
  if (!event) return fail(Code::invalid, name_ + ", line " + std::to_string(line_) + ": " + event.error().message);
  if (line_ == 1 && event->kind != Kind::recorder)
    return fail(Code::invalid, name_ + ", line 1: not a history; the first line of a history names its recorder");
  take_(std::move(*event), line_);
  return {};
}

Result<void> EventReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (rest_.size() + part.size() > kLineBytesMax)
      return fail(Code::invalid,
                  name_ + ", line " + std::to_string(line_ + 1) + ": it is longer than 16 MiB; not a history");
    if (end == std::string_view::npos) {
      rest_ += part;
      return {};
    }
    Result<void> taken = rest_.empty() ? take_line(part) : take_line(rest_ += part);
    rest_.clear();
    if (!taken) return taken;
    bytes.remove_prefix(end + 1);
  }
  return {};
}

Result<void> EventReader::end() {
  torn_ = !rest_.empty();
  rest_.clear();
  if (line_ == 0)
    return fail(Code::invalid,
                name_ + (torn_ ? ", line 1: the line does not end; not a history" : " is empty; not a history"));
  return {};
}

}  // namespace fenceline::history
