// Who of this process comes next at a lock: threads (or fibers) that ask for a name queue here first, in the order in
// which they came, so that the store sees one of them at a time. A turn is an Event: no mutex is held while one waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "runtime/runtime.hpp"

namespace fenceline {

class LockTurns {
 public:
  class Turn {
   public:
    // Its holder went away without a word: a destructor notifies nobody. Those who wait see it within kLookForDropped.
    void drop() { dropped_ = true; }

   private:
    friend class LockTurns;
    std::vector<std::string> names_;
    std::atomic<bool> dropped_ = false;
    // Guarded by the mutex of the queues.
    std::unique_ptr<Event> event_;  // of one that has to wait
    bool impatient_ = false;
    bool settled_ = false;  // it waits at the store, or holds
    bool waits_ = false;    // it waits at the store
  };
  using TurnPtr = std::shared_ptr<Turn>;

  explicit LockTurns(Runtime& runtime) : runtime_(runtime) {}

  // Takes a place in the queue of each name, and waits until it is the first in all of them. One that waits at the
  // store for several names is passed by: one of them may be free, and is then the store's to give, in turn. An
  // impatient one waits only while those before it are about to get an answer of the store, and not behind one that
  // waits there or holds the lock. Null: `deadline` or `stop` came first, or it was impatient.
  TurnPtr take(std::vector<std::string> names, Instant deadline, bool impatient, std::stop_token stop);

  // The one whose turn it is waits for the lock at the store from now on.
  void wait_at_store(const TurnPtr& turn) { settle(turn, true); }
  // It holds the lock from now on.
  void hold(const TurnPtr& turn) { settle(turn, false); }

  // Its turn, or its place, is free. Again: nothing.
  void leave(const TurnPtr& turn);

  std::size_t waiting() const;  // places taken but the first of each queue

 private:
  using Wakes = std::vector<TurnPtr>;
  using Queue = std::deque<TurnPtr>;
  enum class Place { first, waits, hopeless };

  void settle(const TurnPtr& turn, bool waits);
  static TurnPtr first_of(const Queue& queue);
  Place place_of(Turn& turn, Wakes& wakes);
  void remove(const TurnPtr& turn, Wakes& wakes);
  void drop_gone(const std::string& name, Wakes& wakes);
  static void wake(const Wakes& wakes);

  Runtime& runtime_;
  mutable std::mutex mutex_;
  std::map<std::string, Queue> queues_;
};

}  // namespace fenceline
