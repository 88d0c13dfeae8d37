#include "tracker/tracker.hpp"

namespace fenceline::tracker {

std::string_view to_string(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::unavailable: return "unavailable";
    case TroubleKind::in_doubt: return "in_doubt";
    case TroubleKind::limited: return "limited";
    case TroubleKind::denied: return "denied";
    case TroubleKind::refused: return "refused";
    case TroubleKind::not_found: return "not_found";
    case TroubleKind::conflict: return "conflict";
  }
  return "?";
}

}  // namespace fenceline::tracker
