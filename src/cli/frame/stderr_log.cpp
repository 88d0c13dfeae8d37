#include "cli/frame/stderr_log.hpp"

#include <unistd.h>

#include <cerrno>

#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

struct ShowValue {
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return std::to_string(number); }
  std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
  std::string operator()(const std::string& text) const {
    const bool plain = !text.empty() && text.find(' ') == std::string::npos;
    return plain ? printable(text) : "'" + printable(text) + "'";
  }
};

}  // namespace

std::string format_log_text(const LogEvent& event, WallTime time) {
  std::string out = local_clock(time) + " " + std::string(to_string(event.level)) + " " + event.name;
  for (const LogField& field : event.fields) out += " " + field.key + "=" + std::visit(ShowValue{}, field.value);
  return out;
}

void StderrLog::write(const LogEvent& event) {
  if (event.level < least_) return;
  const WallTime now = clock_.wall_now();
  const std::string line = format_log_line(event, format_time(now)) + "\n";
  // One write a line: several threads and processes share a stderr, and a line must not be torn.
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void DeferredLog::write(const LogEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (events_.size() < kEventsMax) events_.push_back(event);
}

void DeferredLog::release() {
  std::vector<LogEvent> events;
  {
    const std::scoped_lock lock(mutex_);
    events.swap(events_);
  }
  for (const LogEvent& event : events) sink_.write(event);
}

}  // namespace fenceline::cli
