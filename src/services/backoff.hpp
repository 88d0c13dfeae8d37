// How long to wait before a store that did not answer is asked again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace fenceline {

inline constexpr Duration kBackoffFirst = std::chrono::milliseconds{50};
inline constexpr Duration kBackoffMost = std::chrono::seconds{2};

// Doubles with each try (from 0) up to `most`; uniform in its upper half, so that workers do not come back together.
constexpr Duration backoff(int tries, Duration most, std::uint64_t random) {
  const Duration whole = std::min(most, kBackoffFirst * (std::int64_t{1} << std::clamp(tries, 0, 20)));
  const std::int64_t half = whole.count() / 2;
  return Duration{whole.count() - half + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(half + 1))};
}

}  // namespace fenceline
