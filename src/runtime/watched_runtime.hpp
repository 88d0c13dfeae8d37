// A Runtime that knows whether the threads that work on it still turn. Whatever a thread asks of it, or of its events,
// is a sign of life; one that waits gives them too, as often as its wait is cut into slices. So a thread that gives
// none hangs: in a call that never returns, behind a mutex, or stopped. One that is away on purpose says so.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/runtime.hpp"

namespace fenceline {

// Safe to use from several threads. Must outlive its tasks and events, and the thread that made it, which is watched as
// "main". One at a time in a process.
class WatchedRuntime final : public Runtime {
 public:
  // Waits are cut into slices of `slice`, which is to be well below any patience. `inner` must outlive it.
  WatchedRuntime(Runtime& inner, Duration slice);
  ~WatchedRuntime() override;
  WatchedRuntime(const WatchedRuntime&) = delete;
  WatchedRuntime& operator=(const WatchedRuntime&) = delete;

  Instant now() const override;
  WallTime wall_now() const override { return inner_.wall_now(); }
  std::string boot_id() const override { return inner_.boot_id(); }
  std::uint64_t random() override;
  bool sleep_until(Instant when, std::stop_token stop) override;
  Task spawn(std::string name, std::function<void(std::stop_token)> body) override;
  std::unique_ptr<Event> make_event() override;

  // The name of the thread that has given no sign of life for longest, if that is longer than `patience`.
  std::optional<std::string> hanging(Duration patience) const;

  // While there is one of these, the thread that made it is away: it runs what may take as long as it likes.
  class Away {
   public:
    Away();
    ~Away();
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;
  };

 private:
  friend class WatchedEvent;
  struct Thread {
    std::string name;
    std::atomic<Instant> seen;
    std::atomic<int> away = 0;
    const Clock* clock = nullptr;
  };
  static thread_local Thread* current_;

  static void turn();
  Thread& enlist(std::string name);
  void dismiss(const Thread& thread);

  Runtime& inner_;
  const Duration slice_;
  mutable std::mutex mutex_;
  std::list<Thread> threads_;  // guarded by the mutex
};

}  // namespace fenceline
