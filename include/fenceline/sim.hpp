// Your own handler in the simulator: the production worker and a store under virtual time, in weather that you choose.
// A handler that must not do something twice shows here that it does not, in a few hundred storms a second or so.
//
//   int paid = 0;
//   const auto report = fenceline::sim::try_handler(
//       {.jobs = {{.payload = R"({"amount": 10})"}},
//        .handler = [&](const fenceline::Run& run, fenceline::sim::Here& here) {
//          paid += 10;                             // twice, if the worker dies before its outcome is known
//          here.work(std::chrono::seconds{2});     // simulated time
//          return fenceline::RunResult{};
//        },
//        .weather = fenceline::sim::Conditions::rough(),
//        .begin = [&] { paid = 0; },
//        .check = [&](const fenceline::sim::TrialStory&) { return paid == 10 ? "" : "paid " + std::to_string(paid);
//        }});
//
// Its cure is run.effect (fenceline/effect.hpp), under any policy: `repeat` if the other side knows keys, `probe` if it
// can be asked, `hold` with `books`.
//
// The same seed gives the same story. Everything runs on the calling thread. Link `fenceline_sim`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fenceline/effect.hpp"
#include "fenceline/handler.hpp"
#include "fenceline/job.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline::sim {

// How bad the world is. All zero is fine weather. Shares are of all calls of a store, 0 to 1; what comes `every` so
// often does so about, for the whole fleet, and never if zero.
struct Conditions {
  double lost_requests = 0;  // never arrive
  double lost_replies = 0;   // the request took effect, and its reply is lost
  double late_requests = 0;  // arrive after their sender gave up
  double duplicates = 0;     // arrive twice
  Duration delay_most{0};    // of a request, and of a reply

  Duration kill_every{0};   // of a worker's process; another one starts in its place
  double kill_at_step = 0;  // at each call of the store, and of Here
  Duration pause_every{0};  // a process pauses and continues later, also past its leases
  Duration pause_most{0};
  Duration stop_every{0};                     // a graceful stop, then a new start
  Duration store_crash_every{0};              // it loses what it had not answered
  bool store_forgets = false;                 // and also its last moments (class C: see docs/guarantees.md)
  Duration lasts = std::chrono::minutes{10};  // then the weather is fine until everything has ended

  // Everything of the above, so that each job meets some of it.
  static Conditions rough(Duration ttl = std::chrono::seconds{30});
};

// Where a handler is: a worker's process on a simulated machine. Its calls may not return: then the process was killed
// in the middle of them. So a handler must let exceptions through that it does not know (no `catch (...)`).
class Here {
 public:
  virtual ~Here() = default;
  virtual Instant now() const = 0;  // of this machine
  virtual WallTime wall_now() const = 0;
  virtual std::uint64_t random() = 0;             // from the seed
  virtual const std::string& worker() const = 0;  // "host-2.1": its second machine, first start
  // Lets simulated time pass. False if the handler was told to stop meanwhile, by run.stop. Zero: only a moment at
  // which this process may be stopped or killed, as between any two lines of a program.
  virtual bool work(Duration takes = Duration{0}) = 0;
};

struct TrialJob {
  std::string queue = "trial";
  std::string payload = "null";  // JSON text
  Duration delay{0};
  int attempts_max = kAttemptsMaxDefault;
  Duration timeout{0};
  std::string key;
  std::string group;
  std::string limit_key;
};

// One call of the handler.
struct TrialDelivery {
  JobId job;
  std::int64_t number = 0;  // of the job's deliveries, from 1
  Fence fence = 0;
  std::string worker;
  std::string end;  // what it returned: "done", "failed", "dead", "later"; "threw"; "killed" in the middle of it
};

// What happened with one seed.
struct TrialStory {
  std::uint64_t seed = 0;
  std::vector<Job> jobs;  // as they ended, in the order of their enqueue, with payload and result
  std::vector<TrialDelivery> deliveries;
  std::int64_t faults = 0;
  std::int64_t takeovers = 0;  // deliveries to another worker after a lease expired
  std::int64_t refusals = 0;   // late outcomes and renewals that the store refused
  Duration simulated{0};
  std::vector<std::string> wrong;  // what `check` said, and promises of fenceline's own that did not hold ("J8: ...")
  std::string trace;               // if asked for
};

struct Trial {
  std::vector<TrialJob> jobs;  // enqueued one by one while the weather lasts
  std::function<RunResult(const Run&, Here&)> handler;
  Conditions weather = {};
  int workers = 2;
  int concurrency = 2;
  Duration ttl = std::chrono::seconds{30};
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 100;
  bool trace = false;                // every event of each story, one a line
  std::function<void()> begin = {};  // before each seed: put your own state back
  // For effects in doubt under `hold`: what an operator finds out, its result if it happened. One comes by every ttl
  // and resolves what has been in doubt for two of them. Without it such jobs wait for ever, and the trial says so.
  std::function<std::optional<std::string>(const Effect&)> books = {};
  // After each seed: whether your own state is as it must be. Empty: it is.
  std::function<std::string(const TrialStory&)> check = {};
};

struct TrialReport {
  std::uint64_t seeds = 0;      // played
  std::int64_t deliveries = 0;  // in all of them
  std::int64_t faults = 0;
  std::int64_t deliveries_again = 0;  // beyond the first one of each job: none means that this weather proves nothing
  std::vector<TrialStory> failed;     // those with something wrong; the trial ends with the tenth

  bool held() const { return failed.empty(); }
};

// Errors: invalid (no job, no handler, a number out of its range).
Result<TrialReport> try_handler(const Trial& trial);

}  // namespace fenceline::sim
