// How our code logs; events and sinks are public: fenceline/log.hpp. A log line is an event name (words joined by `_`,
// listed in docs/events.md) and fields: no prose, no pointers, so that the same seed prints the same bytes. `error`
// means a person should look; in the simulator it fails the run. The sink adds the time and decides where a line goes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fenceline/log.hpp"

namespace fenceline {

// A name for a sink. Cheap to copy; the sink must outlive it.
class Log {
 public:
  explicit Log(LogSink& sink) : sink_(&sink) {}

  LogSink& sink() const { return *sink_; }

  void debug(std::string name, std::vector<LogField> fields = {}) const {
    write(Level::debug, std::move(name), std::move(fields));
  }
  void info(std::string name, std::vector<LogField> fields = {}) const {
    write(Level::info, std::move(name), std::move(fields));
  }
  void warn(std::string name, std::vector<LogField> fields = {}) const {
    write(Level::warn, std::move(name), std::move(fields));
  }
  void error(std::string name, std::vector<LogField> fields = {}) const {
    write(Level::error, std::move(name), std::move(fields));
  }

 private:
  void write(Level level, std::string name, std::vector<LogField> fields) const {
    sink_->write(LogEvent{level, std::move(name), std::move(fields)});
  }

  LogSink* sink_;
};

// Appends `text` as a JSON string literal, with quotes; invalid UTF-8 as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace fenceline
