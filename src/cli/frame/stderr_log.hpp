// Where log events of the program go: stderr, one JSON object a line; short text if a person reads it.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "runtime/clock.hpp"

namespace fenceline::cli {

class StderrLog final : public LogSink {
 public:
  enum class Form { json, text };
  // Events below `least` are dropped. The clock must outlive the sink.
  StderrLog(const Clock& clock, Level least, Form form) : clock_(clock), least_(least), form_(form) {}

  void write(const LogEvent& event) override;

 private:
  const Clock& clock_;
  const Level least_;
  const Form form_;
};

// Keeps events back. For a command that gives one answer: if that is an error, its line says it all.
class DeferredLog final : public LogSink {
 public:
  static constexpr std::size_t kEventsMax = 100;  // later ones are dropped
  explicit DeferredLog(LogSink& sink) : sink_(sink) {}

  void write(const LogEvent& event) override;
  void release();

 private:
  LogSink& sink_;
  std::mutex mutex_;
  std::vector<LogEvent> events_;
};

// One line for people: "10:26:26 warn lease_lost name=deploy fence=7".
std::string format_log_text(const LogEvent& event, WallTime time);

}  // namespace fenceline::cli
