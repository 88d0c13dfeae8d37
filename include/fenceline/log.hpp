// Where the library's events go: implement a LogSink and pass it to Client::open.
//
//   struct Stderr final : fenceline::LogSink {
//     void write(const fenceline::LogEvent& event) override {
//       std::cerr << fenceline::format_log_line(event, "") + "\n";
//     }
//   };
//
// An event is a name (docs/events.md lists them) and fields: no prose, no pointers. `error` means that a person should
// look.
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
  // May be called from any thread. Must not call the client, and should be fast: workers wait for it.
  virtual void write(const LogEvent& event) = 0;
};

// Drops everything.
LogSink& null_log_sink();

// One JSON object without a newline: {"time":"...","level":"info","event":"lease_lost",...fields}. `time`
// is left out when empty. Bytes that are not UTF-8 come out as U+FFFD: a log line is always valid JSON.
std::string format_log_line(const LogEvent& event, std::string_view time);

}  // namespace fenceline
