// The fence: a number that each grant of a resource carries, larger than that of any grant before, for
// ever. What is written under an older one is refused.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline {

using Fence = std::int64_t;

// 2^53 - 1: JSON and Lua keep it exact. Wall time in microseconds reaches it in the year 2255.
inline constexpr Fence kFenceMax = (Fence{1} << 53) - 1;

// max(last + 1, wall clock in microseconds). `last` is the resource's last fence; a resource without one
// starts from the store's floor (the largest fence ever deleted), so deletion never lowers a fence
// whatever the clock does. Errors: refused, when it would pass kFenceMax; it is never wrapped.
Result<Fence> next_fence(Fence last, WallTime now);

}  // namespace fenceline
