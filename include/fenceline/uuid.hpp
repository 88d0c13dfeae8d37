// A UUID as a value. The library makes version 7: they sort by the microsecond in which they were made.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fenceline {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
};

std::string to_string(const Uuid& uuid);                // 8-4-4-4-12, lower case
std::optional<Uuid> parse_uuid(std::string_view text);  // accepts upper case, nothing else

}  // namespace fenceline
