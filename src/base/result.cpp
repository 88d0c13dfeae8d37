#include "base/result.hpp"

namespace fenceline {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::held: return "held";
    case Code::lost: return "lost";
    case Code::not_found: return "not_found";
    case Code::conflict: return "conflict";
    case Code::refused: return "refused";
    case Code::denied: return "denied";
    case Code::full: return "full";
    case Code::invalid: return "invalid";
    case Code::unavailable: return "unavailable";
    case Code::in_doubt: return "in_doubt";
    case Code::broken: return "broken";
  }
  return "unknown";
}

}  // namespace fenceline
