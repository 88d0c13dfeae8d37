// A log line is an event name (words joined by `_`, listed in docs/events.md) and fields: no prose, no
// pointers, so that the same seed prints the same bytes. `error` means a person should look; in the
// simulator it fails the run. Who stamps the time and where it goes is the sink's business.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fenceline {

enum class Level { debug, info, warn, error };

std::string_view to_string(Level level);

using LogValue = std::variant<std::int64_t, double, bool, std::string>;

struct LogField {
  LogField(std::string_view name, std::string text) : key(name), value(std::move(text)) {}
  LogField(std::string_view name, std::string_view text) : key(name), value(std::string(text)) {}
  LogField(std::string_view name, const char* text) : key(name), value(std::string(text)) {}
  LogField(std::string_view name, bool flag) : key(name), value(flag) {}
  LogField(std::string_view name, double number) : key(name), value(number) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) LogField(std::string_view name, T number)
      : key(name), value(static_cast<std::int64_t>(number)) {}

  std::string key;
  LogValue value;
};

struct LogEvent {
  Level level;
  std::string name;
  std::vector<LogField> fields;
};

class LogSink {
 public:
  virtual ~LogSink() = default;
  // May be called from any thread or fiber.
  virtual void write(const LogEvent& event) = 0;
};

// A name for a sink. Cheap to copy; the sink must outlive it.
class Log {
 public:
  explicit Log(LogSink& sink) : sink_(&sink) {}

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

// Drops everything.
LogSink& null_log_sink();

// One JSON object without a newline: {"time":"...","level":"info","event":"lease_lost",...fields}. `time`
// is left out when empty. Bytes that are not UTF-8 come out as U+FFFD: a log line is always valid JSON.
std::string format_log_line(const LogEvent& event, std::string_view time);

// Appends `text` as a JSON string literal, with quotes; invalid UTF-8 as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace fenceline
