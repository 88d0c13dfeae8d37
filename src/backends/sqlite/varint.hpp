// Numbers in blobs: seven bits a byte, the least first; the last byte is below 128. Texts: their length, then they.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"

namespace fenceline::sqlite {

inline void add_number(std::string& out, std::int64_t number) {
  auto rest = static_cast<std::uint64_t>(number);
  while (rest >= 0x80) {
    out += static_cast<char>((rest & 0x7f) | 0x80);
    rest >>= 7;
  }
  out += static_cast<char>(rest);
}

// Takes it off the front.
inline std::int64_t take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (int shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return static_cast<std::int64_t>(number);
  }
  check(false, "a number in a blob is whole");
  return 0;
}

inline void add_sized(std::string& out, std::string_view text) {
  add_number(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

// Takes it off the front.
inline std::string_view take_sized(std::string_view& bytes) {
  const auto size = static_cast<std::size_t>(take_number(bytes));
  check(bytes.size() >= size, "a text in a blob is whole");
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}

}  // namespace fenceline::sqlite
