// What does the work of one job: in the library a function, for `fenceline work` a command. What a handler is given and
// returns is public: fenceline/handler.hpp.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/handler.hpp"
#include "model/job.hpp"

namespace fenceline {

// Why a handler must be gone before its lease ends.
enum class Cut {
  timed_out,  // this attempt took longer than its job allows; the lease goes on until it is gone, or hangs for twice
              // the grace
  revoked,    // an operator ended the delivery: nothing of it counts any more
};

// Why a handler was told to stop, if it was: the worker stops or its lease is about to end, or its time is over.
enum class Stopped { no, for_us, timed_out };

// Until when a handler may act for its job. Moves forward with each renewal; only a cut moves it back, for good.
class TrustDeadline {
 public:
  explicit TrustDeadline(Instant lease_until) : lease_until_(lease_until) {}

  Instant until() const;
  Instant lease_until() const;  // whatever was cut
  std::optional<Cut> cut() const;

  // Tells the listener of the new deadline, on the caller's thread.
  void move_to(Instant lease_until);
  // By `when` at the latest the handler is gone. The reason that came last stays, and the earlier moment.
  void cut_at(Instant when, Cut why);
  // The listener is called at once with the deadline as it stands, then at each move, until `unlisten`.
  void listen(std::function<void(Instant)> listener);
  void unlisten();

 private:
  Instant until_locked() const { return cut_at_ && *cut_at_ < lease_until_ ? *cut_at_ : lease_until_; }

  mutable std::mutex mutex_;
  Instant lease_until_;
  std::optional<Instant> cut_at_;
  std::optional<Cut> cut_;
  std::function<void(Instant)> listener_;
};

// Listens to a deadline while it lives.
class TrustListening {
 public:
  TrustListening(TrustDeadline& trust, std::function<void(Instant)> listener) : trust_(trust) {
    trust_.listen(std::move(listener));
  }
  ~TrustListening() { trust_.unlisten(); }
  TrustListening(const TrustListening&) = delete;
  TrustListening& operator=(const TrustListening&) = delete;

 private:
  TrustDeadline& trust_;
};

Stopped why_stopped(const TrustDeadline& trust, const std::stop_token& stop);

class Handler {
 public:
  virtual ~Handler() = default;
  // Called from several threads (or fibers) at once, for different jobs. A std::exception that it throws counts as
  // failed; anything else ends the process.
  virtual RunResult run(const Run& run) = 0;
};

}  // namespace fenceline
