// A hash that no two texts that anybody could make share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fenceline {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view text);
std::string sha256_hex(std::string_view text);  // as sha256sum prints it

}  // namespace fenceline
