// The clock of one simulated machine, derived from true time: an offset, a rate, and a wall clock that someone
// may set. Processes of one machine share it, as two incarnations of a worker do.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.hpp"

namespace fenceline::sim {

class Machine {
 public:
  // Its monotonic clock shows `offset` at true time zero and gains `rate_ppm` microseconds a second of true time.
  Machine(std::string name, Duration offset, std::int64_t rate_ppm, Duration wall_offset);

  const std::string& name() const { return name_; }
  std::int64_t rate_ppm() const { return rate_ppm_; }

  Instant local(Instant true_time) const;
  WallTime wall(Instant true_time) const;
  // The first moment at which local() is `local_time` or later; Instant::max() stays.
  Instant true_time(Instant local_time) const;

  // Someone sets the wall clock; the monotonic one does not notice.
  void jump_wall(Duration by) { wall_offset_ += by; }

 private:
  std::string name_;
  Duration offset_;
  std::int64_t rate_ppm_;
  Duration wall_offset_;
};

}  // namespace fenceline::sim
