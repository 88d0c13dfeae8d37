// Where log events of the program go if nobody reads them at a terminal: stderr, one JSON object a line.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "runtime/clock.hpp"

namespace fenceline::cli {

class StderrLog final : public LogSink {
 public:
  // Events below `least` are dropped. The clock must outlive the sink.
  StderrLog(const Clock& clock, Level least) : clock_(clock), least_(least) {}

  void write(const LogEvent& event) override;

 private:
  const Clock& clock_;
  const Level least_;
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
