// The connections of one store: a few, opened when they are needed, opened anew when they broke. No lock is held while
// the server is spoken to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "backends/postgres/connection.hpp"
#include "backends/postgres/dsn.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::postgres {

inline constexpr int kConnectionsMost = 4;

// (lease, wall) in microseconds, for a server whose clock() reads settings.
using TestClock = std::function<std::pair<std::int64_t, std::int64_t>()>;

class Pool {
 public:
  Pool(Runtime& runtime, Dsn dsn, TestClock test_clock);

  const Dsn& dsn() const { return dsn_; }
  Runtime& runtime() const { return runtime_; }

  // The server answers a commit when a standby has it. One that writes nothing is answered at once, though it may rest
  // on another commit that no standby has: a repeat of what was in doubt would be acknowledged and could still be lost.
  // From now on such calls write something too.
  void waits_for_a_standby() { replicated_ = true; }

  // Until the server was reached for the first time, whoever waits for it hears this. Said before the first call.
  void heed(std::stop_token stop) { until_reached_ = std::move(stop); }

  // The URL says nothing of a pooler, and some call has met one that shares sessions.
  bool found_sessions_shared() const { return !named_ && !dsn_.pooled; }

  // One call, one transaction. What passes by itself is tried again until the deadline.
  Result<Rows> run(const Statement& statement, const Params& params, CallKind kind, Duration timeout);

  // A connection for work of several steps; put_back it if it is whole.
  Result<std::unique_ptr<Connection>> take(Instant deadline);
  void put_back(std::unique_ptr<Connection> connection);
  void drop(std::unique_ptr<Connection> connection);

 private:
  std::chrono::milliseconds servers_share(Instant deadline) const;
  static bool fits(std::chrono::milliseconds known, std::chrono::milliseconds wanted);
  // What comes before the statement: the timeout, a test's clock, and a write of its own.
  std::vector<Step> opening_steps(std::chrono::milliseconds share, const Connection& connection, bool confirms) const;
  Result<std::unique_ptr<Connection>> connect(Instant deadline);
  struct Taken {
    std::unique_ptr<Connection> idle;
    bool may_open = false;  // none is idle, and there is room for another
    bool more_idle = false;
  };
  Taken take_idle();
  Duration backoff(int failures) const;

  Runtime& runtime_;
  const Dsn dsn_;
  const TestClock test_clock_;
  const int pid_;
  std::atomic<bool> named_;
  std::atomic<bool> was_reached_ =
      false;  // before that, whoever cannot reach the server is told at once: perhaps its name is wrong
  std::stop_token until_reached_;
  std::atomic<bool> replicated_ = false;
  std::atomic<bool> doubted_ = false;  // some call stayed without an answer
  std::unique_ptr<Event> freed_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Connection>> idle_;
  int open_ = 0;
};

}  // namespace fenceline::postgres
