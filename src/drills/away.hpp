// What the drills on a store that runs in a process of its own, behind a connection, share.
#pragma once

#include <string>

#include "drills/fleet.hpp"

namespace fenceline::cli {

// An embedded store has nothing to restart and nothing to cut, and the drill says so instead of passing.
inline Result<int> nothing_to_play(const Invocation& invocation, const std::string& name, const std::string& what) {
  return tell_not_played(
      invocation, name,
      what + ": the store is embedded and has no server; `drill kill` and `drill pause` cover its faults");
}

}  // namespace fenceline::cli
