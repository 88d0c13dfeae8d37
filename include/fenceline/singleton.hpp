// A job that must not run twice at a time in a fleet, for teams that keep their own scheduler: each replica's scheduler
// calls run(), one of them does the work, the others skip.
//
//   fenceline::Singleton nightly(client->locks(), {.name = "nightly-report"});
//   auto end = nightly.run([](const fenceline::SingletonRun& run) { report(run.fence, run.stop); });
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "fenceline/lock_client.hpp"
#include "fenceline/result.hpp"

namespace fenceline {

struct SingletonOptions {
  std::string name;
  Duration ttl = std::chrono::minutes{10};
  Duration renew_every = std::chrono::minutes{3};
  int renewal_tries = kRenewalTries;
  Duration soft_timeout = std::chrono::minutes{5};  // then it is logged and counted; 0: never
  Duration hard_timeout{0};                         // then the job is told to stop; 0: never
  Duration hold_at_least{0};  // so that a short job is not run again by a replica whose clock is behind
  Duration every{0};          // how often the scheduler calls: only to say when the next try is; 0: unknown
};

enum class SingletonEnd {
  ran,
  skipped_held,    // another process runs it (debug)
  skipped_failed,  // the store did not answer (warn, with the time of the next try)
  lost,            // it ran, and lost its lock on the way: it was told to stop
};

struct SingletonRun {
  Fence fence;
  std::stop_token stop;  // trust is about to end, the hard timeout is over, or the scheduler stops
  const HeldLock& held;
};

class Singleton {
 public:
  // `locks` must outlive it.
  Singleton(LockClient& locks, SingletonOptions options);

  // One tick: runs the job, or skips it. The lock is released at the end with a budget of its own: a stop that
  // cancelled the job still frees it. A std::exception that the job throws is rethrown after the release. Errors:
  // invalid, refused, denied, broken.
  Result<SingletonEnd> run(const std::function<void(const SingletonRun&)>& job, std::stop_token stop = {});

  // run() now, then every `options.every` (at least 1 s), until `stop`. Errors: of run.
  Result<void> run_every(const std::function<void(const SingletonRun&)>& job, std::stop_token stop);

 private:
  LockClient& locks_;
  const SingletonOptions options_;
};

}  // namespace fenceline
