// The faults that `drill operator` plays, as data: what happens to a fleet from outside, what an operator sees of it (a
// metric, an alert, a finding of doctor), and the command that fixes it. One file a family of faults; docs/operating.md
// has the table that is made from them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "drills/operator_scene.hpp"

namespace fenceline::cli {

struct OperatorFault {
  std::string name;    // "paused_queue"; for --only
  std::string what;    // is done from outside: "a queue is paused and forgotten"
  std::string metric;  // that moves: a name, or one with labels, name{state="dead"}
  std::string check;   // of doctor that names it
  std::string
      command;  // as the finding gives it; words in capitals stand for any one, and "..." for any number of them
  // What is well, before the fault: workers, and whose metrics are watched if not those of a worker that stands by.
  std::function<void(OperatorScene&)> prepare = {};
  std::function<void(OperatorScene&)> bring_about;
  // What an operator fills into the command: the words in it, and what for. CMD is `true` if not said otherwise.
  std::vector<std::pair<std::string, std::string>> fill = {};
  // What else must happen once the command was given, for the trouble to be over.
  std::function<void(OperatorScene&)> then = {};
  // Set if no fenceline command fixes it: what to do instead; `command` is then plain text.
  std::function<void(OperatorScene&)> fix = {};
  std::string alert = {};                      // if it is not called by the check
  bool one_alert_for_many = false;             // the alert is of many checks, and its label says which
  bool ages = false;                           // the metric is an age: it keeps growing while the fault lasts
  bool silences = false;                       // whose metrics are watched is gone during it
  std::vector<bench::StoreKind> only_on = {};  // empty: on every store
  bool takes_the_server = false;  // it affects the whole server: played alone, and only on the drill's own server
  // A worker looks at the store itself when it starts, and then once a minute. So that nobody waits for that, the
  // metrics during it are of one that starts then.
  bool seen_at_start = false;
};

// "FencelineStaleJobs" of the check "stale_jobs", and "stale-jobs.md" of that.
std::string alert_of(const OperatorFault& fault);
std::string runbook_of(const OperatorFault& fault);

// Whether a remedy is the command that the table promises.
bool is_as_promised(const std::string& command, const std::string& remedy);

std::vector<OperatorFault> operator_faults();
// By family.
std::vector<OperatorFault> job_faults();
std::vector<OperatorFault> worker_faults();
std::vector<OperatorFault> lock_faults();
std::vector<OperatorFault> schedule_faults();
std::vector<OperatorFault> server_faults();
std::vector<OperatorFault> setting_faults();

// What became of one.
struct OperatorVerdict {
  std::string not_played = {};  // why
  double before = 0;            // of the metric
  double during = 0;
  bool moved = false;
  bool fired = false;
  bool named = false;
  bool fixed = false;
  SceneFinding finding = {};
  std::string trouble = {};  // a sentence, if it did not go as it should
  Duration took{};

  bool held() const { return moved && fired && named && fixed && trouble.empty(); }
};

// Plays one of them. `rules_path` are the alert rules.
OperatorVerdict play_fault(const OperatorFault& fault, OperatorScene& scene, const std::string& rules_path);

}  // namespace fenceline::cli
