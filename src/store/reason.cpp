#include "store/reason.hpp"

#include <algorithm>
#include <array>
#include <ostream>

namespace fenceline {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Reason::other) + 1> kReasons{
    "",         "not_found", "superseded", "other_owner",     "other_call", "finished", "settled",
    "expired",  "state",     "key_taken",  "effect_in_doubt", "changed",    "not dead", "to_its_end",
    "released", "held",      "barred",     "delayed",         "turn",       "moved",    "early",
    "covers",   "other"};

}  // namespace

std::string_view to_string(Reason reason) { return kReasons[static_cast<std::size_t>(reason)]; }

Reason reason_from(std::string_view word) {
  const auto found = std::ranges::find(kReasons, word);
  return found == kReasons.end() ? Reason::other : static_cast<Reason>(found - kReasons.begin());
}

std::ostream& operator<<(std::ostream& out, Reason reason) { return out << to_string(reason); }

}  // namespace fenceline
