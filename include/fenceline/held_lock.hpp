// A lock that is held, as its holder sees it.
//
//   auto held = client->acquire_lock("deploy", {.ttl = 30s});
//   if (!held) return report(held.error());
//   deploy(held->fence(), held->stop());      // end soon once stop is set: the lease could not be renewed
//   if (auto released = held->release(); !released) return report(released.error());
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/fence.hpp"
#include "fenceline/lock.hpp"
#include "fenceline/result.hpp"

namespace fenceline {

struct LockState;
struct LockParts;

// Must be released by release(). A handle that is dropped without it is abandoned: a destructor asks no store, so its
// lease is not renewed any more and ends by itself (and its holder's delay, if it asked for one, follows). Its client
// must outlive it. All but release() and the destructor may be called from several threads.
class HeldLock {
 public:
  HeldLock(HeldLock&& other) noexcept = default;
  HeldLock& operator=(HeldLock&& other) noexcept;
  ~HeldLock();

  // What was granted, in the order of the sorted names. Empty if it was failed open.
  const std::vector<LockGrant>& grants() const;
  Fence fence() const;                              // of the first; 0 if it was failed open
  Fence fence_of(std::string_view resource) const;  // 0: no such
  const std::string& resource() const;  // of the first: "deploy", or "deploy#3" of several slots. Failed open: its name
  const std::string& owner() const;

  // Whether the work may act now: the lock is neither lost nor released, and trust in its lease has not ended.
  bool held() const;
  // Final: from then on it is neither held, renewed nor released.
  bool lost() const;
  // Why, as docs/events.md lists it: "trust_ended", or the reason of the store's refusal. Empty: it is not lost.
  std::string why_lost() const;
  // The store was unreachable, and the lock's class says to continue: at acquire (then there is no fence), or since
  // trust ended.
  bool failed_open() const;

  // Set when the work must end: trust ends within the grace, the lock is lost, the stop passed to acquire was
  // requested, or the lock was released.
  std::stop_token stop() const;

  // Enters it again under the same fence: the last handle that is released frees it. Errors: lost (also: it was
  // released).
  Result<HeldLock> enter() const;

  // Local state turns off first; then the store is told, if this was the last handle, with a budget of its own (a stop
  // does not cut it short). For a lock that is held to its end only the first happens. Once; a second call is ok.
  // Errors: lost (then nothing is sent: an abandoned lock is not released); the store's errors, if the lock's class
  // wants them reported.
  Result<void> release();

  // Tells the work under it to end, as a loss would; it stays held.
  void request_stop() const;

 private:
  friend class LockClient;
  friend struct LockParts;
  HeldLock(LockParts& parts, std::shared_ptr<LockState> state) : parts_(&parts), state_(std::move(state)) {}

  LockParts* parts_;
  std::shared_ptr<LockState> state_;  // null once it was moved from
  bool over_ = false;                 // this handle was released
};

}  // namespace fenceline
