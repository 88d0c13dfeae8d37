// Runs what a finding says mends it, as a person would: pasted into a shell.
#pragma once

#include <fcntl.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/child_process.hpp"
#include "support/results.hpp"

namespace fenceline::test {

// Whether it ended well. What it says goes nowhere.
inline bool run_line(const std::string& line,
                     const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const ChildProcess child = must(spawn_child({.program = "sh",
                                               .arguments = {"sh", "-c", line},
                                               .environment = environment_with(environment),
                                               .descriptors = {{nothing.get(), 0}, {nothing.get(), 1}}}));
  return reap(child) == ExitStatus{};
}

}  // namespace fenceline::test
