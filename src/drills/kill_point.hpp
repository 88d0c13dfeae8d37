// The story of one crash point in `fenceline drill kill`: the whole life of some jobs in a queue of its own, with a
// process that dies there, and the question whether the next ones found everything in order.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/crash_point.hpp"
#include "cli/frame/command.hpp"
#include "drills/armed_process.hpp"
#include "drills/fleet.hpp"
#include "drills/folder.hpp"

namespace fenceline::cli {

// Whether only the creation of a store reaches it: it is played on a new file beside the store, removed afterwards.
bool needs_new_file(const CrashPointInfo& point);

// Why no process can be killed there on such a store; empty if it can.
std::string cannot_be_met(const CrashPointInfo& point, const std::string& store_url);

class KillAtPoint {
 public:
  // Both must outlive it. The jobs are in namespace `ns`, which its creator removes.
  KillAtPoint(Invocation& invocation, std::string ns, const CrashPointInfo& point);

  // What is wrong, as a sentence; empty if all held. `report` gets what the workers said and how much of their history
  // was checked.
  std::string play(DrillReport& report);

 private:
  bool starts_with(std::string_view prefix) const { return point_.name.starts_with(prefix); }
  bool was_met() const;
  std::string queue() const { return std::string(point_.name); }
  std::string history() const { return folder_.path() + "/history"; }
  std::vector<std::string> enqueue() const;
  std::vector<std::string> work() const;
  std::vector<std::vector<std::string>> life() const;

  void write_payloads() const;
  Ended run(std::vector<std::string> arguments, bool armed);
  std::string play_and_look();
  std::string kill_somebody();
  std::string work_until_nothing_is_left();
  std::string all_is_in_order();
  std::string each_is_done(const std::string& listing);
  void note_ids(const std::string& output);
  std::string last_words() const;

  Invocation& invocation_;
  Runtime& runtime_;
  const CrashPointInfo& point_;
  const std::string ns_;
  DrillFolder folder_;
  std::optional<DrillFolder> new_file_;  // where it is, if the point needs one
  std::set<std::string> acknowledged_;
};

}  // namespace fenceline::cli
