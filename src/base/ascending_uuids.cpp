#include "base/ascending_uuids.hpp"

namespace fenceline {

Uuid AscendingUuids::next(WallTime now, std::uint64_t random_high, std::uint64_t random_low) {
  const Uuid made = make_uuid7(now, random_high, random_low);
  if (made <= last_) {
    // The last one and a step of chance, in the 62 bits at the end.
    constexpr std::uint64_t kMost = (std::uint64_t{1} << 62) - 1;
    std::uint64_t tail = 0;
    for (std::size_t i = 8; i < 16; ++i) tail = tail << 8 | last_.bytes[i];
    const std::uint64_t sum = (tail & kMost) + 1 + (random_high >> 32);
    Uuid stepped = last_;
    for (std::size_t i = 8; i < 16; ++i) stepped.bytes[i] = static_cast<std::uint8_t>(sum >> (8 * (15 - i)));
    stepped.bytes[8] = static_cast<std::uint8_t>((stepped.bytes[8] & 0x3f) | 0x80);
    last_ = sum <= kMost ? stepped : made;  // once in a billion ids it does not ascend, which only costs time
    return last_;
  }
  return last_ = made;
}

}  // namespace fenceline
