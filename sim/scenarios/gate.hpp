// The rule of a gate, written down once more: equal or larger than all before passes; where the store knows the resource, its newest grant counts too.
#pragma once

#include <optional>
#include <string_view>

#include "model/fence.hpp"

namespace fenceline::sim {

enum class GateVerdict { accepted, stale, behind };

inline std::string_view to_string(GateVerdict verdict) {
  return verdict == GateVerdict::accepted ? "accepted" : verdict == GateVerdict::stale ? "stale" : "behind";
}

inline GateVerdict judge_at_gate(Fence fence, Fence remembered, std::optional<Fence> newest) {
  if (newest && fence < *newest) return GateVerdict::stale;
  if (fence >= remembered) return GateVerdict::accepted;
  return newest && fence == *newest ? GateVerdict::behind : GateVerdict::stale;
}

}  // namespace fenceline::sim
