// How many requests a process may send to a tracker: one budget for all its workers. Trackers limit an account's writes
// per minute and per hour, and all its requests per hour. Time is an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/time.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

enum class CallKind { read, write };

// Urgent requests (renewals, outcomes) may use all of it; the others leave a fifth.
enum class Urgency { usual, urgent };

struct BudgetOptions {
  int writes_a_minute = 60;  // GitHub: 80, and web use counts too
  int writes_an_hour = 450;  // GitHub: 500
};

// Safe to call from several threads.
class Budget {
 public:
  explicit Budget(BudgetOptions options = {}) : options_(options) {}

  // How long until such a call may be made; zero: now, and a write is counted.
  Duration take(CallKind kind, Urgency urgency, Instant now);
  // What an answer said about the primary limit.
  void served(const Served& served, Instant now);
  // The tracker rate-limits us: nobody calls until `come_back` is over; if it did not say, for a minute, doubling to a
  // quarter of an hour.
  void limited(std::optional<Duration> come_back, Instant now);
  void unlimited();

  std::int64_t writes() const;  // in total
  std::int64_t limits() const;  // how often it was rate-limited

 private:
  mutable std::mutex mutex_;
  const BudgetOptions options_;
  std::deque<Instant> writes_;  // of the last hour
  std::int64_t written_ = 0;
  std::int64_t limits_ = 0;
  int in_row_ = 0;
  Instant closed_until_{};
  std::optional<Limit> primary_;
  Instant primary_at_{};
};

}  // namespace fenceline::tracker
