// The common frame of the drills: real workers of this program on the store at hand, in a namespace of its own, with
// jobs for them; a fault that somebody plays on them meanwhile; and the question whether every promise held, answered
// by the store, by the workers' words and by the checker of their histories.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/own_process.hpp"
#include "drills/folder.hpp"
#include "session/session.hpp"

namespace fenceline::cli {

class DrillFleet;
struct DrillReport;

inline constexpr Duration kBetweenFaults = std::chrono::milliseconds{1500};
inline constexpr Duration kPastALease = std::chrono::milliseconds{2500};  // those of a fleet are of one second

struct DrillPlan {
  std::string name;       // "pause"
  std::string store_url;  // of the workers
  int workers = 3;
  int jobs = 40;
  bool owes_takeovers = false;     // without one it shows nothing
  bool owes_doubts = false;        // nor without a call whose answer was lost
  bool commands = true;            // each job is a process of its own; else the workers run them themselves
  bool crash_at_any_time = false;  // the store may have lost writes at an unknown time: the checker is told
  std::string work_for =
      "0.4";  // seconds of each command: longer than a third of the ttl, so that leases are renewed under it
  // Of a worker, laid over this process's own.
  std::function<std::map<std::string, std::string>(const DrillFleet&, int worker)> environment;
  // Plays the fault on the running fleet. False if it was interrupted.
  std::function<bool(DrillFleet&, DrillReport&)> storm;
};

// What came of it.
struct DrillReport {
  int faults = 0;  // that were injected
  std::vector<std::string> not_injected;
  std::int64_t takeovers = 0;
  std::int64_t refused = 0;
  std::int64_t events = 0;              // of the histories
  std::int64_t grants = 0;              // of locks, in them
  std::int64_t unanswered = 0;          // calls in them that may have happened or not
  std::vector<std::string> violations;  // sentences
};

class DrillFleet {
 public:
  // Both must outlive it; `store` is where the plan's workers are at home too.
  DrillFleet(Invocation& invocation, Store& store, DrillPlan plan);
  ~DrillFleet();
  DrillFleet(const DrillFleet&) = delete;
  DrillFleet& operator=(const DrillFleet&) = delete;

  // Adds the jobs and starts the workers.
  Result<void> start();
  int workers() const { return plan_.workers; }
  pid_t pid(int number) const { return workers_.at(static_cast<std::size_t>(number))->pid(); }
  const std::string& folder() const { return folder_.path(); }

  // False if the drill was interrupted.
  bool wait(Duration how_long);
  // Tells people at a terminal how far it is: "NAME: words, 12 jobs left".
  void tell_progress(const std::string& words);
  // How many jobs have not ended; negative if the store does not say.
  std::int64_t unfinished();
  // Until every job has ended. A sentence if that takes longer than `most`.
  std::string wait_for_the_end(Duration most);

  // For a drill in which the store crashes: the jobs that are done now, with their fences; and whether all of these
  // still are.
  std::map<JobId, Fence> finished();
  void look_for(const std::map<JobId, Fence>& finished, DrillReport& report);
  // The store is down now, and has forgotten what its class lets it forget: the checker is told.
  void store_crashed();

  // Stops the workers and checks everything; `report` gets what they did and what was wrong.
  void judge(DrillReport& report);
  // What this drill added to the store goes.
  Result<void> clean_up();

 private:
  std::string history() const { return folder_.path() + "/history"; }
  Result<std::optional<Job>> look_at(const JobId& id);
  void look_at_the_jobs(DrillReport& report);
  void audit(DrillReport& report);

  Invocation& invocation_;
  Runtime& runtime_;
  Store& store_;
  const DrillPlan plan_;
  const std::string ns_;
  DrillFolder folder_;
  std::map<JobId, std::string> payloads_;
  std::optional<Session>
      recorded_;  // what the drill itself does is in the history too, so that the checker knows all there was
  std::vector<std::unique_ptr<OwnProcess>> workers_;
};

// A whole drill on the plan's store: start, storm, end, verdict, and the namespace removed.
Result<int> play_drill(Invocation& invocation, Store& store, DrillPlan plan);

// Gives a history to the checker, in a process of its own; `report` gets what it found.
void audit_history(Runtime& runtime, const std::string& path, const std::vector<std::string>& options,
                   DrillReport& report);

// Adds what the workers said in their logs: takeovers, and late writes that were refused.
void count_words(const std::string& path, DrillReport& report);

// Prints the report, as text or JSON, and gives the exit code: held, broken, or nothing could be injected at all.
int tell_drill(const Invocation& invocation, const std::string& name, const DrillReport& report);

// The same for a drill that cannot be played here, and why.
int tell_not_played(const Invocation& invocation, const std::string& name, const std::string& why);

// The words of a process of ours, which accepts what this one does: its options end at `--`.
std::vector<std::string> accepting(const Invocation& invocation, std::vector<std::string> arguments);

}  // namespace fenceline::cli
