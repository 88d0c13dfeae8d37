// Writes down what one process does to its store and its handlers, as it happens.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "history/format/event.hpp"
#include "model/job.hpp"
#include "runtime/clock.hpp"

namespace fenceline::history {

// Where lines go. Safe to call from several threads; calls no Store and no Runtime.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::string line) = 0;  // without its end
};

struct RecorderOptions {
  std::string by;           // one start of one process, never reused
  std::string store;        // its kind
  char guarantee = 'D';     // its class
  std::string store_clock;  // see Event
  bool whole = false;
  Duration repeats{0};
};

class Recorder {
 public:
  // Writes its first line. Both must outlive it.
  Recorder(const Clock& clock, Sink& sink, RecorderOptions options);

  // The line is on its way to the file when this returns. Returns the number of the call.
  std::int64_t invoke(Event request);
  void answer(std::int64_t call, Event reply);

  // `started`, `acted`, `told` and `ended`, the last with its outcome.
  void handler(Kind kind, const std::string& owner, const JobId& job, Fence fence, std::string_view outcome = {});
  // `started` and `ended` of the work under a lock, the latter with how: "released", "lost".
  void lock_work(Kind kind, const std::string& owner, const std::string& resource, Fence fence,
                 std::string_view outcome = {});
  // `rest` and `crash`.
  void mark(Kind kind);

 private:
  void write(Event& event);

  const Clock& clock_;
  Sink& sink_;
  const std::string by_;
  std::atomic<std::int64_t> calls_ = 0;
};

}  // namespace fenceline::history
