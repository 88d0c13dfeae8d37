// How long what people do to items and schedules tries.
#pragma once

#include "base/time.hpp"

namespace fenceline {

inline constexpr int kDecisions = 20;  // of an act that others were faster than
inline constexpr Duration kDecisionPause = std::chrono::milliseconds{20};

}  // namespace fenceline
