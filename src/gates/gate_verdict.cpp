#include "fenceline/gated_file.hpp"

namespace fenceline {

std::string_view to_string(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::accepted: return "accepted";
    case GateVerdict::stale: return "stale";
    case GateVerdict::behind: return "behind";
  }
  return "?";
}

GateAnswer judge_fence(Fence fence, Fence remembered, std::optional<Fence> newest) {
  GateAnswer answer{GateVerdict::stale, remembered, newest};
  if (newest && fence < *newest) return answer;
  if (fence >= remembered) {
    answer.verdict = GateVerdict::accepted;
    answer.remembered = fence;
  } else if (newest && fence == *newest) {
    answer.verdict = GateVerdict::behind;
  }
  return answer;
}

}  // namespace fenceline
