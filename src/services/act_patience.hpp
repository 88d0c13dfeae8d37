// How long what people do to items and schedules tries.
#pragma once

#include "base/time.hpp"

namespace fenceline {

inline constexpr int kRepeats = 5;     // of a call whose answer got lost: at once, then after a pause that doubles
inline constexpr int kDecisions = 20;  // of an act that others were faster than
inline constexpr Duration kRepeatPause = std::chrono::milliseconds{200};
inline constexpr Duration kDecisionPause = std::chrono::milliseconds{20};

}  // namespace fenceline
