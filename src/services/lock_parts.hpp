// What the tasks of one lock client share: the two seams, what is held, whom to wake, what was counted.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "runtime/runtime.hpp"
#include "services/lock_client.hpp"
#include "services/lock_counts.hpp"
#include "services/lock_hints.hpp"
#include "services/lock_holdings.hpp"
#include "services/lock_turns.hpp"
#include "store/store.hpp"

namespace fenceline {

inline constexpr std::int64_t kReleasesBeforeTidy = 1000;

// One that was not answered is taken back later, until whatever it granted has ended by itself.
struct Unanswered {
  WithdrawRequest request;
  Instant until;
};

struct LockParts {
  LockParts(Runtime& the_runtime, Log the_log, Store& the_store, LockClientOptions the_options);

  // Of the public classes, which show neither.
  static LockParts& of(const LockClient& client) { return *client.parts_; }
  static LockState& state_of(const HeldLock& held) { return *held.state_; }

  Runtime& runtime;
  Log log;
  Store& store;
  const LockClientOptions options;
  LockCounters counts;
  LockHoldings holdings;
  LockTurns turns;
  LockHints hints;

  // One waiter each.
  std::array<std::unique_ptr<Event>, kLockKeepers> keepers;
  const std::unique_ptr<Event> watch;
  const std::shared_ptr<Event> attendant;

  // It is held from now on: whoever must know of it wakes up, and is there.
  void add(const LockStatePtr& state);
  void give_to_attendant(Unanswered unanswered);
  std::deque<Unanswered> take_unanswered();
  // One more will be free, now or when its window is over: somebody has to have it removed then.
  void will_be_free();
  std::atomic<std::int64_t> releases = 0;  // since the last tidy

  void log_lost(const LockState& state, const std::string& why);

 private:
  std::mutex mutex_;
  std::deque<Unanswered> unanswered_;
  std::array<std::atomic<bool>, kLockKeepers> keeps_{};
  std::atomic<bool> attends_ = false;
  // Last: they use all of the above.
  std::array<Task, kLockKeepers> keeper_tasks_;
  Task watch_task_;
  Task attendant_task_;

  void start_attending();
};

}  // namespace fenceline
