// What a log event tells somebody at a terminal: one short line instead of fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/time.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {

// "25ms", "1.5s", "2m10s", "3h5m", "2d4h": as much as people want to know.
std::string about(Duration duration);

// "mail 0c6f9d10 failed: exit 3 after 25ms; retry 2 of 10 in 400ms", in its parts.
struct EventLine {
  std::string subject;  // the queue and the short id of a job, or what else it is about
  std::string what;     // "failed": shown in `tone`
  std::string detail;   // "exit 3": shortened first if the line is too long
  std::string more;     // " after 25ms; retry 2 of 10 in 400ms"
  Tone tone = Tone::plain;
  bool hidden = false;  // another line says it
};

// Nothing: this event has no line of its own.
std::optional<EventLine> line_of(const LogEvent& event);

// "21:51:03 mail 0c6f9d10 failed: ...", in the time zone of this machine, at most `width` columns.
std::string render_line(const EventLine& line, WallTime time, int width, bool colour);

// A field as text; empty if it is not there.
std::string field_text(const LogEvent& event, std::string_view key);
std::optional<std::int64_t> field_number(const LogEvent& event, std::string_view key);

}  // namespace fenceline::cli
