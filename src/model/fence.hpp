// How fences are minted; the number itself is public: fenceline/fence.hpp.
#pragma once

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/fence.hpp"

namespace fenceline {

// max(last + 1, wall clock in microseconds). `last` is the resource's last fence; a resource without one
// starts from the store's floor (the largest fence ever deleted), so deletion never lowers a fence
// whatever the clock does. Errors: refused, when it would pass kFenceMax; it is never wrapped.
Result<Fence> next_fence(Fence last, WallTime now);

}  // namespace fenceline
