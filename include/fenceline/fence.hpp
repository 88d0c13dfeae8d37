// The fence: a number that each grant of a job or lock carries, larger than that of any grant before, for ever. Send it
// along with every write, and let the other side refuse what comes under an older one: fenceline/gated_file.hpp,
// gated_key.hpp, sqlite.hpp and postgres.hpp do.
#pragma once

#include <cstdint>

namespace fenceline {

using Fence = std::int64_t;

// 2^53 - 1: JSON and Lua keep it exact. Wall time in microseconds reaches it in the year 2255.
inline constexpr Fence kFenceMax = (Fence{1} << 53) - 1;

}  // namespace fenceline
