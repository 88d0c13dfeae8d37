// How often in a row a job may be lost, as the promises say it.
#pragma once

#include <cstdint>

namespace fenceline::audit {

inline constexpr std::int32_t kLossesMost = 5;
inline constexpr std::int32_t kLossesBeforeAlone = 2;

}  // namespace fenceline::audit
