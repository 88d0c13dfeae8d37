// Who tells the time. A Runtime is a Clock for the process it runs; a store that lives in this process
// (memory, SQLite) is given one of its own, so that tests and the simulator can move it.
#pragma once

#include <string>

#include "base/time.hpp"

namespace fenceline {

class Clock {
 public:
  virtual ~Clock() = default;

  // Goes on in suspend, never jumps, is the same for all processes of one boot. Leases run on it.
  virtual Instant now() const = 0;

  // What a calendar shows. May jump. Fences, run times and everything that outlives a boot use it.
  virtual WallTime wall_now() const = 0;

  // Names the stretch of time in which now() can be compared. Two boots have two.
  virtual std::string boot_id() const = 0;
};

}  // namespace fenceline
