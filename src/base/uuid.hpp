// UUIDs as values. Version 7: they sort by the microsecond in which they were made, which keeps indexes append-only.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace fenceline {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
};

// Time and chance are arguments: they come from a Runtime. Two bits of the first and 62 of the second number are used.
Uuid make_uuid7(WallTime now, std::uint64_t random_high, std::uint64_t random_low);

std::string to_string(const Uuid& uuid);                // 8-4-4-4-12, lower case
std::optional<Uuid> parse_uuid(std::string_view text);  // accepts upper case, nothing else

}  // namespace fenceline
