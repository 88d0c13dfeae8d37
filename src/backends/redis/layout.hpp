// What lua/10_jobs.lua and 14_locks.lua say of keys. Raised when a program with older scripts could not read what newer
// ones wrote, or the other way round.
#pragma once

#include <string_view>

namespace fenceline::redis {

inline constexpr std::string_view kLayout = "2";

}  // namespace fenceline::redis
