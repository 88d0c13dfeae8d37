// The story of one crash point of an effect in `fenceline drill kill`: jobs whose handler enters a line into books by
// 'fenceline effect', a process that dies there, and the question whether every job gets done with its line entered
// once. Under `repeat` nobody is needed for that; under `hold` each doubt must be named, and the drill itself is the
// operator, who decides by the books.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/crash_point.hpp"
#include "cli/frame/command.hpp"
#include "drills/armed_process.hpp"
#include "drills/folder.hpp"

namespace fenceline::cli {

// Whether only a job with an effect, or one that is made to wait, passes it.
bool is_of_an_effect(const CrashPointInfo& point);

class KillAtEffect {
 public:
  // Both must outlive it. The jobs are in namespace `ns`, which its creator removes.
  KillAtEffect(Invocation& invocation, std::string ns, const CrashPointInfo& point)
      : invocation_(invocation), point_(point), ns_(std::move(ns)) {}

  // What is wrong, as a sentence; empty if all held.
  std::string play();

 private:
  bool ends_in_doubt() const;
  std::size_t doubts_owed(const std::string& policy) const;
  std::string queue(const std::string& policy) const { return std::string(point_.name) + "-" + policy; }
  std::string books(const std::string& policy) const { return folder_.path() + "/books-" + policy; }
  std::string mark(const std::string& policy) const { return folder_.path() + "/mark-" + policy; }
  std::vector<std::string> work(const std::string& policy) const;
  Ended run(std::vector<std::string> arguments, const std::string& armed_mark = "");

  std::string play_under(const std::string& policy);
  std::string finish_them(const std::string& policy);
  // Says of each doubt what the books say. A sentence if a name is missing, or it is not taken.
  std::string decide(const std::string& policy);
  std::size_t unfinished();
  std::map<std::string, int> entries(const std::string& policy) const;

  Invocation& invocation_;
  const CrashPointInfo& point_;
  const std::string ns_;
  DrillFolder folder_;
  std::vector<std::string> jobs_;        // of the current policy
  std::map<std::string, int> resolved_;  // by job: what an operator said
};

}  // namespace fenceline::cli
