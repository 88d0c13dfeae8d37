// Log events for somebody at a terminal: a line for each job that ended and for what goes wrong, and a last line with
// counts that is redrawn. Events that have no line of their own, and all of them at level debug, are shown with their
// fields.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "cli/frame/event_lines.hpp"
#include "cli/frame/live_line.hpp"
#include "runtime/clock.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::cli {

// What a worker did so far, from its events.
class WorkCounts {
 public:
  void count(const LogEvent& event, WallTime now);
  // Jobs that have run for some time and were not told of: their lines.
  struct Started {
    EventLine line;
    WallTime at;
  };
  std::vector<Started> newly_long(WallTime now);
  // "2 running, 118 done, 3 failed, 1 dead".
  std::string text() const;

 private:
  struct Running {
    std::string queue;
    WallTime since;
    bool told = false;
  };
  std::map<std::string, Running> running_;  // by job
  std::int64_t done_ = 0, moved_ = 0, failed_ = 0, dead_ = 0, later_ = 0, lost_ = 0, refused_ = 0;
};

class TerminalLog final : public LogSink {
 public:
  // Events below `least` are dropped. The clock must outlive the sink.
  TerminalLog(const Clock& clock, Level least);

  void write(const LogEvent& event) override;
  // What a command of a worker wrote, in whole lines.
  void pass_on(std::string_view lines);

  // Shows the last line, and redraws it, while the answer lives. Not on a terminal that cannot move its cursor.
  Task keep_live_line(Runtime& runtime);

 private:
  void redraw(bool over);

  const Clock& clock_;
  const Level least_;
  const bool colour_;
  std::mutex mutex_;
  bool live_ = false;
  LiveLine line_;
  WorkCounts counts_;
};

}  // namespace fenceline::cli
