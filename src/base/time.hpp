// Time is a type, and only a Clock (runtime/clock.hpp) can tell it.
#pragma once

#include <chrono>
#include <optional>

namespace fenceline {

using Duration = std::chrono::microseconds;

// A clock with no now(): only a Clock can make an Instant.
struct Monotonic {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Monotonic>;
  static constexpr bool is_steady = true;
};

using Instant = Monotonic::time_point;             // leases and deadlines: comparable within one boot of one machine
using WallTime = std::chrono::sys_time<Duration>;  // run times, cron and people; may jump

// What is planned next: the earlier of two moments, of which each may be missing.
constexpr void take_earlier(std::optional<Instant>& earliest, std::optional<Instant> other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

}  // namespace fenceline
