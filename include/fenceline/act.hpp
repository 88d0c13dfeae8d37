// Who does something to a schedule or an item, and why. Both stand in the trail (`fenceline trail`).
#pragma once

#include <string>

namespace fenceline {

struct Act {
  std::string actor;  // a person's name, or a program's
  std::string reason;
};

// Who acts, if the caller does not say.
inline const Act kByLibrary{.actor = "library", .reason = ""};

}  // namespace fenceline
