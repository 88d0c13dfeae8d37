// One request for a lock: asks the store until it is granted, or the request is given up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "services/lock_hints.hpp"
#include "services/lock_holdings.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {

class LockAsker {
 public:
  // `options` have their names sorted; `turn` is that of its caller.
  LockAsker(LockParts& parts, const LockOptions& options, LockTurns::TurnPtr turn, Instant deadline,
            std::stop_token stop);
  ~LockAsker() = default;
  LockAsker(const LockAsker&) = delete;
  LockAsker& operator=(const LockAsker&) = delete;

  // The lock, or why not; nothing of it is left at the store then, or will be taken back. Once.
  Result<LockStatePtr> ask();

 private:
  enum class Next { ask, give_up };

  Result<LockStatePtr> ask_and_wait();
  void begin();
  Result<LockStatePtr> accept(const AcquireReply& reply, Instant asked_at, Instant answered_at);
  Next not_granted(const AcquireReply& reply, Instant now);
  Next failed(const Error& error, Instant now);
  // Sleeps, but for what comes before it: a hint, a stop, the deadline.
  void wait_in_turn(const AcquireReply& reply, Instant now);
  bool over(Instant now) const { return stop_.stop_requested() || now >= deadline_; }
  Duration call_timeout(Instant now) const;
  // Nothing of it shall be left at the store. False: the store does not answer; it is tried on by the attendant.
  bool withdraw();
  Error why_not() const;
  std::string for_how_long() const;

  LockParts& parts_;
  const LockOptions& options_;
  const LeaseTimes times_;
  const LockTurns::TurnPtr turn_;
  const Instant deadline_;
  const std::stop_token stop_;
  const Duration call_most_;  // of one call, so that a lease that it brings can be used
  Instant answer_by_{};       // calls end soon after it
  AcquireRequest request_;
  std::shared_ptr<Event> event_;  // once it has to wait
  LockHints::ListenerPtr listener_;
  std::vector<std::optional<LockHints::Mark>> marks_;  // of its names, before the first question
  std::int64_t seen_ = 0;                              // hints, when it asked last
  std::optional<LockHeld> held_;                       // what the last answer said
  std::optional<Instant> free_at_;                     // by that answer, should nobody come before
  std::optional<Error> error_;                         // of the last call, if it had no answer
  bool sent_ = false;                                  // under these ids: something of it may be at the store
  bool in_doubt_ = false;                              // and what, nobody knows
  bool answered_ = false;                              // the store has said something
  bool contended_ = false;
  bool late_ = false;  // a grant came too late to be used
  int failures_ = 0;   // in a row
  int retries_ = 0;    // in a row
};

}  // namespace fenceline
