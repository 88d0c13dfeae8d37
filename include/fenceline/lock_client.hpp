// The locks of one process: asks for them, keeps them alive, tells their holders before trust ends (L5), and gives them
// back. Client::locks() has one.
//
// Everything is layered: threads of one process take turns at a name among themselves first, in the order in which they
// came, and only the one whose turn it is asks the store. Exclusive holders keep that turn until they release; a holder
// that lost its lock keeps it as long as it has its handle.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "fenceline/held_lock.hpp"
#include "fenceline/lock.hpp"
#include "fenceline/lock_options.hpp"
#include "fenceline/result.hpp"

namespace fenceline {

// What a lock client did, counted since its start. Nothing is decided by it.
struct LockCounts {
  std::int64_t acquired = 0;          // grants that were used; re-entries do not count
  std::int64_t contended = 0;         // requests that found their lock taken, in this process or at the store
  std::int64_t waited = 0;            // of these, those that were granted in the end
  std::int64_t not_obtained = 0;      // requests that ended without the lock: taken, cancelled or the store away
  std::int64_t acquire_failures = 0;  // calls to acquire that the store did not answer, or too late
  std::int64_t renewals = 0;          // leases renewed
  std::int64_t renewal_failures = 0;  // renewals that were not answered, each try
  std::int64_t lost = 0;              // leases given up while held: not renewed in time, broken, or taken over
  std::int64_t abandoned = 0;  // handles dropped without a release, and acquires in doubt that could not be taken back
  std::int64_t fail_open = 0;  // work done, or continued, without the lock because the store was away
  std::int64_t released = 0;
  std::int64_t release_failures = 0;  // releases that the store did not answer: those locks end by themselves
  std::int64_t soft_timeouts = 0;     // singletons that took longer than they should
  std::int64_t skipped_held = 0;      // singletons and loops that did not run because another process had the lock
  std::int64_t skipped_failed = 0;    // and because the store was away
};

// Safe to use from several threads.
class LockClient {
 public:
  // Created by the library. It must outlive its handles, and runs its own tasks from the first lock on.
  explicit LockClient(std::shared_ptr<LockParts> parts);
  ~LockClient();
  LockClient(const LockClient&) = delete;
  LockClient& operator=(const LockClient&) = delete;

  // Asks for the lock, and waits for it at most `options.wait`, or until `stop`. A request that is given up is taken
  // back at the store. A reply that was lost is asked for again; a grant that came too late to be used goes back, and
  // does not count. Errors:
  //   held         another process has it, or others come first; or `stop` was requested. The message names the holder
  //   unavailable  the store is away (and nothing is held)
  //   in_doubt     it is away, and may have granted the lock: that grant ends by itself within the ttl
  //   refused      fences used up; or this very holder has it in another way (see LockOptions::holder)
  //   invalid, full, denied, broken
  Result<HeldLock> acquire(const LockOptions& options, std::stop_token stop = {});

  // Acquires, calls `body`, releases: the form to prefer. `stop` ends the wait, and is passed on to the body. A
  // std::exception that the body throws is rethrown after the release. Errors: of acquire; lost (the body ran, and was
  // told to stop, but may have worked on without the lock); of release.
  Result<void> with(const LockOptions& options, const std::function<void(const HeldLock&)>& body,
                    std::stop_token stop = {});

  // Who has it, who waits. Empty if nothing is known of it. Errors: invalid, unavailable, broken.
  Result<std::optional<LockRow>> look(const std::string& resource);

  LockCounts counts() const;

 private:
  friend struct LockParts;
  std::shared_ptr<LockParts> parts_;
};

}  // namespace fenceline
