// The locks of one process: asks for them, keeps them alive, tells their holders before trust ends (L5), and gives them
// back. Plain blocking code on the two seams, so that the simulator runs this very class.
//
//   LockClient locks(runtime, log, store, {.ns = "default", .place = "host:4711"});
//   locks.with({.names = {"deploy"}, .ttl = 30s, .wait = 10s}, [](const HeldLock& held) { deploy(held.fence(),
//   held.stop()); });
//
// Everything is layered: threads (or fibers) of one process take turns at a name among themselves first, in the order
// in which they came, and only the one whose turn it is asks the store. Exclusive holders keep that turn until they
// release; a holder that lost its lock keeps it as long as it has its handle.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "services/held_lock.hpp"
#include "services/lock_counts.hpp"
#include "services/lock_options.hpp"
#include "store/store.hpp"

namespace fenceline {

struct LockClientOptions {
  std::string ns = "default";
  std::string place = {};  // for people: "host:pid"
  Duration tidy_every =
      std::chrono::minutes{10};  // after releases: how often free locks are removed at the store; 0: never
};

class LockClient {
 public:
  // All references must outlive it, and it its handles. It has tasks of its own from the first lock on.
  LockClient(Runtime& runtime, Log log, Store& store, LockClientOptions options);
  ~LockClient();
  LockClient(const LockClient&) = delete;
  LockClient& operator=(const LockClient&) = delete;

  // Asks for the lock, and waits for it at most `options.wait`, or until `stop`. What is given up is taken back at the
  // store. A reply that was lost is asked for again; a grant that came too late to be used goes back, and is none.
  // Errors:
  //   held         somebody has it, or others come first; or `stop` was requested. The message names the holder
  //   unavailable  the store is away (and nothing is held)
  //   in_doubt     it is away, and may have granted it: what it granted ends by itself within the ttl
  //   refused      fences used up; or this very holder has it in another way (see LockOptions::holder)
  //   invalid, full, denied, broken
  Result<HeldLock> acquire(const LockOptions& options, std::stop_token stop = {});

  // Acquires, calls `body`, releases: the form to prefer. `stop` ends the wait, and is passed on to the body. An
  // exception of std:: that the body throws is thrown on after the release. Errors: of acquire; lost (the body ran, and
  // was told to stop, but may have worked on without the lock); of release.
  Result<void> with(const LockOptions& options, const std::function<void(const HeldLock&)>& body,
                    std::stop_token stop = {});

  // Who has it, who waits. Empty if nothing is known of it.
  Result<std::optional<LockRow>> look(const std::string& resource);

  LockCounts counts() const;

  Runtime& runtime() const;
  Log log() const;
  LockCounters& counters();
  const LockClientOptions& options() const;

 private:
  std::unique_ptr<LockParts> parts_;
};

}  // namespace fenceline
