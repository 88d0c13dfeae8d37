// How UUIDs are made; the value is public: fenceline/uuid.hpp. Version 7 sorts by the microsecond in which it was made,
// which keeps indexes append-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time.hpp"
#include "fenceline/uuid.hpp"

namespace fenceline {

// Time and chance are arguments: they come from a Runtime. Two bits of the first and 62 of the second number are used.
Uuid make_uuid7(WallTime now, std::uint64_t random_high, std::uint64_t random_low);

inline constexpr std::size_t kIdDigits = 32;
// All hex digits in lower case, without dashes.
std::string hex_digits(const Uuid& uuid);

}  // namespace fenceline
