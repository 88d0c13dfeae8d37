// The story of one crash point of a lock in `fenceline drill kill`: a holder that dies there, and the question whether
// the next one gets the lock, no sooner than it may, under a larger fence.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/crash_point.hpp"
#include "cli/frame/command.hpp"
#include "drills/armed_process.hpp"
#include "drills/fleet.hpp"
#include "drills/folder.hpp"

namespace fenceline::cli {

// Whether only the holder of a lock passes it.
bool is_of_a_lock(const CrashPointInfo& point);

class KillAtLock {
 public:
  // Both must outlive it. The lock is in namespace `ns`, which its creator removes.
  KillAtLock(Invocation& invocation, std::string ns, const CrashPointInfo& point)
      : invocation_(invocation), point_(point), ns_(std::move(ns)) {}

  // What is wrong, as a sentence; empty if all held. `report` gets how much of the history was checked.
  std::string play(DrillReport& report);

 private:
  std::string key() const { return std::string(point_.name); }
  std::string mark() const { return folder_.path() + "/mark"; }
  std::string history() const { return folder_.path() + "/history"; }
  std::vector<std::string> lock(const std::vector<std::string>& command) const;
  Ended run(std::vector<std::string> arguments, bool armed = false);
  // 0 if the store does not know it.
  Fence newest_fence();

  Invocation& invocation_;
  const CrashPointInfo& point_;
  const std::string ns_;
  DrillFolder folder_;
};

}  // namespace fenceline::cli
