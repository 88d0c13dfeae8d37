// Whether a store that did not do what it was asked for is asked again, and how long to wait before.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline {

// Whether a repeat of the call can help. What else a store answers ends the worker.
constexpr bool may_repeat(Code code) {
  return code == Code::unavailable || code == Code::in_doubt || code == Code::full;
}

// Whether the store is gone for this process: its disk failed, or it serves nobody here any more. Nothing that runs can
// be renewed or settled.
constexpr bool ends_for_good(Code code) { return code == Code::broken || code == Code::refused; }

inline constexpr Duration kBackoffFirst = std::chrono::milliseconds{50};
inline constexpr Duration kBackoffMost = std::chrono::seconds{2};

// Doubles with each try (from 0) up to `most`; uniform in its upper half, so that workers do not come back together.
constexpr Duration backoff(int tries, Duration most, std::uint64_t random) {
  const Duration whole = std::min(most, kBackoffFirst * (std::int64_t{1} << std::clamp(tries, 0, 20)));
  const std::int64_t half = whole.count() / 2;
  return Duration{whole.count() - half + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(half + 1))};
}

}  // namespace fenceline
