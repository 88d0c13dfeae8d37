// A backlog on a tracker and those who work on it: workers that are paused, killed and started again; people who
// approve and settle what is contested; others who forge, meddle and tidy up. Safety is checked throughout the storm,
// progress after it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "sim/checks/violations.hpp"
#include "sim/runtime/machine.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/tracker/sim_tracker.hpp"
#include "sim/tracker/tracker_checks.hpp"
#include "sim/tracker/tracker_clock.hpp"
#include "sim/tracker/tracker_model.hpp"
#include "tracker/tracker_worker.hpp"

namespace fenceline::sim {

struct TrackerPlan {
  int workers = 5;
  int items = 10;
  tracker::Capabilities can = {};
  bool claim_label = true;
  bool entry = true;         // the last stage needs an approval
  Duration entry_within{0};  // so long; zero: for ever
  EntryEnd entry_then = EntryEnd::reject;
  double approves = 0.3;  // of what waits, each time a person looks at the board
  Duration poll = std::chrono::seconds{30};
  bool arrivals = false;  // every second item is made during the storm
  // Every change by anybody but workers is told to every worker: some of it never, some twice, some late and so in
  // another order. Zero: nothing is told.
  double webhooks = 0;  // of the changes
  double webhook_doubled = 0;
  Duration webhook_late_most{0};
  TrackerFaults faults = {};
  TrackerWire wire = {};
  bool reads_are_true = false;  // see TrackerCheckOptions
  Duration works_least = std::chrono::minutes{2};
  Duration works_most = std::chrono::minutes{20};
  double fails = 0.05;
  double later = 0.02;
  double sends_back = 0;  // of the runs after the first stage
  bool hands_on = false;  // the second stage takes the output of the first
  Duration kill_every{0};
  Duration pause_every{0};
  Duration pause_most = std::chrono::minutes{30};
  std::int64_t drift_ppm = 200;
  // People and bots; about every so often one act, zero: never.
  Duration forge_every{0};         // claims and records by somebody, and those of another item
  Duration tamper_every{0};        // comments of workers are edited or deleted
  Duration replace_every{0};       // a bot writes the whole set of labels that it read up to a minute before
  Duration meddle_every{0};        // somebody who may not moves an item
  Duration command_every{0};       // a trusted person moves an item
  Duration close_every{0};         // a trusted person closes an item, and opens it again within an hour
  Duration copy_every{0};          // somebody with the workers' account posts one of their comments once more
  Duration self_approve_every{0};  // the workers' own account approves
  Duration flip_every{0};          // a bot flips the labels of the first item, for `flip_for`
  Duration flip_for{0};
  bool settles = true;  // a person settles what is contested, after the storm
  Duration storm = std::chrono::hours{6};
  Duration patience = std::chrono::hours{24 * 7};  // after it
  LogSink* log = nullptr;                          // of the workers; none: into the trace
  bool tracing = false;
};

struct TrackerReport {
  std::vector<Violation> violations;
  TrackerTally tally;
  TrackerModelCounts model;
  tracker::TrackerWorkerCounts workers;  // added up; of the most the largest
  std::int64_t kills = 0, pauses = 0, forged = 0, tampered = 0, replaced = 0, meddled = 0, flips = 0;
  std::int64_t first_item_writes = 0;  // by workers
  bool first_item_contested = false;   // at the end of the storm
  std::int64_t webhooks_lost = 0, webhooks_doubled = 0, webhooks_told = 0;
  std::int64_t commands = 0, closed = 0, copied = 0, handed_on = 0;
  bool stopped = false;
  Duration simulated{};
  std::string trace;
};

// What a program finds in its process.
struct TrackerHost {
  SimRuntime& process;
  tracker::Tracker& tracker;
  Handler& handler;
  const tracker::Protocol& protocol;
  TrackerModel& model;  // for what no driver does
  tracker::Account account;
};

// What a process does in place of a TrackerWorker: how recipes are shown. Its name in its markers is that of its
// process.
using TrackerProgram = std::function<void(TrackerHost& host, std::stop_token stop)>;

class TrackerWorld {
 public:
  TrackerWorld(std::uint64_t seed, TrackerPlan plan, StackPool& stacks, TrackerProgram program = {});
  ~TrackerWorld();
  // Ends early when `stop` is requested.
  TrackerReport run(std::stop_token stop = {});

 private:
  class Hands;  // the handler of one process
  struct Process;

  Random& random() { return simulation_.random(); }
  void start(int place);
  void make_item();
  void tell(const TrackerEvent& event);
  void trace(const TrackerEvent& event);
  void every(Duration mean, std::function<void()> what);
  void strike(bool kill);
  void people();
  void settle_contested();
  void forge();
  void tamper();
  void replace();
  void meddle(const tracker::Account& by);
  void close();
  void reopen(const std::string& item);
  void copy();
  void flip();
  void quiet();
  std::string some_item();
  const tracker::Comment* some_comment_of_workers(const std::string& item);
  tracker::Tracker& of(const tracker::Account& account);

  TrackerPlan plan_;
  Simulation simulation_;
  TrackerClock clock_;
  bool storm_ = true;
  tracker::Protocol protocol_;
  TrackerModel model_;
  Violations violations_;
  TrackerChecks checks_;
  TrackerProgram program_;
  TrackerWire wire_;
  std::deque<Machine> machines_;
  std::map<std::string, std::unique_ptr<tracker::Tracker>> doors_;
  std::deque<std::unique_ptr<Process>> processes_;  // the dead too: what they sent may be under way
  std::map<int, Process*> at_;
  std::stop_token stop_;
  TrackerReport report_;
};

}  // namespace fenceline::sim
