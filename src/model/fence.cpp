#include "model/fence.hpp"

#include <algorithm>

namespace fenceline {

Result<Fence> next_fence(Fence last, WallTime now) {
  if (last >= kFenceMax) return fail(Code::refused, "fences are used up: the last one is 2^53-1");
  const Fence clock = now.time_since_epoch().count();
  if (clock > kFenceMax)
    return fail(Code::refused, "the store's clock is past the year 2255: no fence can follow it; set the clock");
  return std::max(last + 1, clock);
}

}  // namespace fenceline
