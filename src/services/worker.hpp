// A worker: claims jobs in batches, runs a bounded number at a time, renews all its leases in one call,
// settles in batches, and stops gracefully. Plain blocking code on the two seams, so that the simulator
// runs this very class.
//
// What it promises on top of the store: a handler is started only under a trusted lease; it is told to stop
// before trust ends (L5); after `lost` the outcome of a handler that had already returned is still sent, and
// nothing else; a claim that stays in doubt is given back; a job that must run alone runs alone (J5); a
// graceful stop costs no job anything. A delivery that an operator ended is stopped within a second, and only then does
// the store hear that its slot is free.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/worker.hpp"
#include "handler/handler.hpp"
#include "runtime/actor.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

// Ends this process at once, with the status of a lost lease. Guardians then end their commands.
void end_process_for_lost_lease();

struct WorkerOptions {
  std::string ns = "default";
  std::vector<std::string> queues;
  std::string stage;
  int concurrency = 1;
  int prefetch = 0;  // jobs claimed beyond those that run, so that no handler waits for the store
  Duration ttl = std::chrono::seconds{30};
  Duration drain_grace = std::chrono::seconds{30};  // what running handlers get at a stop before they are told
  bool drain = false;                               // end when nothing is running, by anyone, or claimable
  bool strict = false;  // a handler that works on without a lease, and past a grace, ends the process
  std::function<void()> end_process = end_process_for_lost_lease;
  Duration orders_every = std::chrono::milliseconds{500};  // how often a worker that holds something asks for orders
  Duration tidy_every = std::chrono::minutes{1};  // about how often it removes what was kept long enough; 0: never
  bool schedules = true;                          // fires ticks, if no other worker of the namespace does
  std::string actor =
      {};  // this process, so that another one can see whether it lives (runtime/actor.hpp); empty: the owner
  std::function<ActorLife(const std::string& actor, Instant until, std::stop_token stop)> wait_for_actor =
      {};            // none: of others nothing is known
  std::string host;  // for the registry
  std::int64_t pid = 0;
  std::string version;
};

class JobWorker {
 public:
  // The handler is shared by all slots. All references must outlive the worker.
  JobWorker(Runtime& runtime, Log log, Store& store, Handler& handler, WorkerOptions options);

  const std::string& owner() const { return owner_; }

  // Works until asked to stop or an operator orders it (then drains within the grace) or, with `drain`, until
  // nothing is left. A store that is away is waited for. Errors: invalid, broken, refused.
  Result<WorkReport> run(std::stop_token asked_to_stop);

 private:
  Runtime& runtime_;
  Log log_;
  Store& store_;
  Handler& handler_;
  WorkerOptions options_;
  std::string owner_;
};

}  // namespace fenceline
