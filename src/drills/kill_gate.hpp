// The story of one crash point of a write gate in `fenceline drill kill`: a file and a command behind gates of their
// own, a writer that dies there, and the question whether the next ones find the old content or the new, and nothing
// older gets in.
#pragma once

#include <string>
#include <vector>

#include "base/crash_point.hpp"
#include "cli/frame/command.hpp"
#include "drills/armed_process.hpp"
#include "drills/folder.hpp"

namespace fenceline::cli {

// Whether a writer at a gate passes it, and no job does.
bool is_of_a_gate(const CrashPointInfo& point);

class KillAtGate {
 public:
  // Both must outlive it.
  KillAtGate(Invocation& invocation, const CrashPointInfo& point) : invocation_(invocation), point_(point) {}

  // What is wrong, as a sentence; empty if all held.
  std::string play();

 private:
  int run(const std::vector<std::string>& arguments, bool armed);
  std::vector<std::string> put(int fence) const;
  std::vector<std::string> write_by_command(int fence) const;
  std::string content() const;
  bool was_met() const;
  std::string killed_and_repeated(const std::vector<std::string>& writer, int fence);
  std::string nothing_is_left() const;

  Invocation& invocation_;
  const CrashPointInfo& point_;
  DrillFolder folder_;  // its words and its mark
  DrillFolder place_;   // the file and the gates
};

}  // namespace fenceline::cli
