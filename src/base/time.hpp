// Time is a type, and only a Clock (runtime/clock.hpp) can tell it. The types are public: fenceline/time.hpp.
#pragma once

#include <optional>

#include "fenceline/time.hpp"

namespace fenceline {

// What is planned next: the earlier of two moments, of which each may be missing.
constexpr void take_earlier(std::optional<Instant>& earliest, std::optional<Instant> other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

}  // namespace fenceline
