// Whether some work may be given to a tracker, whose claims are best effort: the four preconditions, as checks that
// refuse and say what to use instead.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "tracker/protocol.hpp"

namespace fenceline::tracker {

inline constexpr int kRoundTripsOfWork = 10;
inline constexpr int kRoundTripsOfTtl = 20;

struct Fitness {
  bool idempotent = false;            // whoever starts the worker says so: work that is done twice does no harm
  std::optional<Duration> work = {};  // how long an item takes: said, or the median of those that were done
  Duration claim{0};                  // how long a claim takes here, measured; 0: not yet
  std::size_t trackers = 1;           // that this worker was given
};

// Errors: refused.
Result<void> check_fitness(const Protocol& protocol, const Fitness& fitness);

// Of an odd number the middle one, of an even number the smaller of the two.
std::optional<Duration> median(std::vector<Duration> durations);

}  // namespace fenceline::tracker
