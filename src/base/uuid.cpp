#include "base/uuid.hpp"

namespace fenceline {

Uuid make_uuid7(WallTime now, std::uint64_t random_high, std::uint64_t random_low) {
  Uuid uuid;
  const auto millis =
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count());
  for (int i = 0; i < 6; ++i)
    uuid.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(millis >> (40 - 8 * i));
  // Twelve bits: the microsecond within the millisecond, and two of chance.
  const auto micros = static_cast<std::uint64_t>(now.time_since_epoch().count()) - millis * 1000;
  const std::uint64_t fine = micros << 2 | (random_high & 3);
  uuid.bytes[6] = static_cast<std::uint8_t>(0x70 | (fine >> 8));
  uuid.bytes[7] = static_cast<std::uint8_t>(fine);
  for (int i = 0; i < 8; ++i)
    uuid.bytes[static_cast<std::size_t>(8 + i)] = static_cast<std::uint8_t>(random_low >> (56 - 8 * i));
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
  return uuid;
}

std::string to_string(const Uuid& uuid) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kHex[uuid.bytes[i] >> 4];
    text += kHex[uuid.bytes[i] & 0x0f];
  }
  return text;
}

std::string hex_digits(const Uuid& uuid) {
  std::string text = to_string(uuid);
  std::erase(text, '-');
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return std::nullopt;
      continue;
    }
    int value = 0;
    if (c >= '0' && c <= '9') value = c - '0';
    else if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
    else return std::nullopt;
    std::uint8_t& byte = uuid.bytes[nibble / 2];
    byte = static_cast<std::uint8_t>(nibble % 2 == 0 ? value << 4 : byte | value);
    ++nibble;
  }
  return uuid;
}

}  // namespace fenceline
