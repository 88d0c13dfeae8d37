// A worker: claims jobs of some queues, calls a handler for each under a lease that it renews, and settles what the
// handler returned.
//
//   fenceline::Worker worker(*client, {.queues = {"mail"}}, [](const fenceline::Run& run) {
//     return fenceline::RunResult::done(send(run.job.payload));
//   });
//   if (auto started = worker.start(); !started) return report(started.error());
//   ...                                     // serve, until it is time to end
//   worker.stop();                          // graceful: running handlers finish
//   const auto report = worker.join();      // what it did
//
// Client::work is the same in one call that blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "fenceline/handler.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

class Client;  // fenceline/fenceline.hpp

inline constexpr int kConcurrencyMax = 500;

struct WorkOptions {
  std::vector<std::string> queues;  // served in this order
  std::string stage = {};           // of a pipeline, by its name; empty: its first one, or jobs without a stage
  int concurrency = 0;              // 0: what the stage says, else the number of cores; at most kConcurrencyMax
  Duration ttl{0};  // of a lease, renewed while its handler runs: 1 s to 24 h; 0: what the stage says, else 30 s
  Duration drain_grace = std::chrono::seconds{30};  // at a stop, running handlers get this long before they are told
  bool drain = false;        // end when no job of these queues is running, on any worker, or could be claimed now
  bool strict = false;       // end this process if a handler works on without its lease
  bool schedules = true;     // fire the ticks of schedules, in turn with the other workers of the namespace
  std::string history = {};  // a file for this call alone, instead of that of the client; empty: that of the client
};

// What a worker counted; nothing is decided by it.
struct WorkReport {
  std::int64_t claimed = 0;
  std::int64_t takeovers = 0;  // of those, jobs whose earlier lease had expired
  std::int64_t done = 0;
  std::int64_t moved = 0;   // of those, items of a pipeline that went on to another stage
  std::int64_t failed = 0;  // attempts that failed, those that ended a job included
  // Jobs that ended as dead: their last attempt failed, the handler said so, or this worker's claim met them after five
  // lost deliveries in a row.
  std::int64_t dead = 0;
  std::int64_t later = 0;
  std::int64_t given_back = 0;
  std::int64_t refused = 0;  // late writes of this worker that the store refused
  std::int64_t lost = 0;     // leases that it had to give up
  std::int64_t revoked = 0;  // deliveries that an operator ended: cancelled, or retried
  std::int64_t waiting = 0;  // deliveries that ended with an effect in doubt: their jobs wait
  std::int64_t ahead = 0;    // at the end of a drain: jobs whose time lies ahead
  std::int64_t blocked = 0;  // and jobs that wait for their group, a limit or a pause
};

// Works once: run() or start(). The handler is called from several threads at once, each with another job; a
// std::exception that it throws counts as failed, anything else ends the process. A function cannot be killed: one that
// runs long must look at `run.stop` and return soon once it is set, or it works on without a lease (its result may then
// be refused), and the worker does not end before it returns.
//
// In a queue with a pipeline `done` moves the item on, through its entry conditions; their check commands are left to
// `fenceline work --run-checks`.
class Worker {
 public:
  // Nothing runs yet. The client must outlive the worker.
  Worker(Client& client, WorkOptions options, HandlerFunction handler);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();  // stop() and join()

  // Works on the calling thread, until stop() is called or `stop` requested, an operator orders it, or with
  // WorkOptions::drain until nothing is left. A store that is away is waited for. Errors: invalid (the options),
  // refused (it was started before; the store lacks what is asked for), broken.
  Result<WorkReport> run(std::stop_token stop = {});

  // Works on its own thread; returns at once. Errors: refused (it was started before).
  Result<void> start();

  // Asks it to end, and returns at once: no job is claimed any more, running handlers get WorkOptions::drain_grace to
  // finish, then their `stop` is set. May be called any number of times, from any thread, also from a handler and
  // before start().
  void stop();

  // Waits until a worker that start() began has ended, and answers what it did; again the same. For one thread, and not
  // for a handler. Errors: refused (start() was not called), and those of run().
  Result<WorkReport> join();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline
