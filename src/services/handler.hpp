// What does the work of one job. In the library a function; for `fenceline work` a command.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/job.hpp"

namespace fenceline {

// Until when a handler may act for its job. Moves forward with each renewal; never back.
class TrustDeadline {
 public:
  explicit TrustDeadline(Instant until) : until_(until) {}

  Instant until() const;
  // Tells the listener of the new deadline, on the caller's thread.
  void move_to(Instant until);
  // The listener is called at once with the deadline as it stands, then at each move, until `unlisten`.
  void listen(std::function<void(Instant)> listener);
  void unlisten();

 private:
  mutable std::mutex mutex_;
  Instant until_;
  std::function<void(Instant)> listener_;
};

// One delivery, as its handler sees it.
struct Run {
  const Job& job;          // with its fence
  std::stop_token stop;    // the lease is lost or about to be, or the worker stops: end soon, what you return is ignored if stale
  TrustDeadline& trust;
};

// How a delivery went. The worker adds the retry delay.
struct RunResult {
  OutcomeKind kind = OutcomeKind::done;
  std::string result;  // for done
  std::string error;   // for failed and dead
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called from several threads (or fibers) at once, for different jobs. A std::exception that it throws counts as failed; anything else ends the process.
  virtual RunResult run(const Run& run) = 0;
};

}  // namespace fenceline
