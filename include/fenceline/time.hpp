// The types of time. Any std::chrono duration that loses no precision converts to a Duration: `30s`, `5min`.
#pragma once

#include <chrono>

namespace fenceline {

using Duration = std::chrono::microseconds;

// A clock without now(): only the library makes an Instant, so that the simulator can.
struct Monotonic {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Monotonic>;
  static constexpr bool is_steady = true;
};

using Instant = Monotonic::time_point;             // leases and deadlines: comparable within one boot of one machine
using WallTime = std::chrono::sys_time<Duration>;  // run times, cron and people; may jump

// How long a call to a store may take, unless it says otherwise.
inline constexpr Duration kCallTimeout = std::chrono::seconds{10};

}  // namespace fenceline
