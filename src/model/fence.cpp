#include "model/fence.hpp"

#include <algorithm>

namespace fenceline {

Result<Fence> next_fence(Fence last, WallTime now) {
  if (last >= kFenceMax) return fail(Code::refused, "no fences are left: the largest is 2^53-1");
  const Fence clock = now.time_since_epoch().count();
  if (clock > kFenceMax)
    return fail(Code::refused, "the store's clock is past the year 2255, and fences end there; set the clock");
  return std::max(last + 1, clock);
}

}  // namespace fenceline
