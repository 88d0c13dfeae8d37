// What does the work of one job. In the library a function; for `fenceline work` a command.
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
#include "handler/effect.hpp"
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

// Takes what a handler says while it works. Safe to call from several threads; never waits for a store.
class RunNotes {
 public:
  virtual ~RunNotes() = default;
  virtual void progress(Progress progress) = 0;
  virtual void log(std::string_view bytes) = 0;
};

// Does the effects of a handler. Safe to call from several threads.
class RunEffects {
 public:
  virtual ~RunEffects() = default;
  virtual Result<std::string> effect(std::string_view name, std::string_view request, const EffectAct& act,
                                     const EffectOptions& options) = 0;
};

// One delivery, as its handler sees it.
struct Run {
  const Job& job;        // with its fence
  std::stop_token stop;  // the lease is lost or about to be, the time of the attempt is over, or the worker stops: end
                         // soon, what you return is ignored if stale
  TrustDeadline& trust;
  RunNotes* notes = nullptr;      // none: what is said goes nowhere
  RunEffects* effects = nullptr;  // none: every effect is refused

  // How far it is, 0 to 100, and in a few words; the last one said counts. What is out of range or too long is cut.
  void progress(int percent, std::string_view note = {}) const;
  // Adds to the job's log. Both reach the store within a tenth of a second, about, and before the outcome.
  void log(std::string_view text) const;
  // Does a side effect once for this job, whatever becomes of this delivery, and answers with its result: the recorded
  // one, if it was done before (handler/effect.hpp has an example). `name` is as a queue's; `request` is what is asked
  // for: the same name for another request is a conflict. Waits for a call of the same effect that is under way.
  // Errors:
  //   lost         this delivery is over: another has the job, or it waits for an operator now. Return; nothing you
  //   return counts unavailable  it did not happen: return failed or later, and call it again next time in_doubt     it
  //   may have happened (repeat): return failed or later; the next call goes the way that was declared held this run
  //   was told to stop before it began conflict, invalid, refused, full, broken
  Result<std::string> effect(std::string_view name, std::string_view request, const EffectAct& act,
                             const EffectOptions& options = {}) const;
};

// How a delivery went. The worker adds the retry delay.
struct RunResult {
  OutcomeKind kind = OutcomeKind::done;
  std::string result;                             // for done
  std::string error;                              // for failed and dead
  std::optional<int> exit_status = std::nullopt;  // of a command: 128 + n for a signal; what is not 0 to 255 is none
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called from several threads (or fibers) at once, for different jobs. A std::exception that it throws counts as
  // failed; anything else ends the process.
  virtual RunResult run(const Run& run) = 0;
};

}  // namespace fenceline
