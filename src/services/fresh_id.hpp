// Names that nothing else has: owners and requests.
#pragma once

#include <string>

#include "base/uuid.hpp"
#include "runtime/runtime.hpp"

namespace fenceline {

inline std::string fresh_id(Runtime& runtime) {
  // One after the other: a seed replays only what has an order.
  const WallTime now = runtime.wall_now();
  const std::uint64_t high = runtime.random();
  const std::uint64_t low = runtime.random();
  return to_string(make_uuid7(now, high, low));
}

}  // namespace fenceline
