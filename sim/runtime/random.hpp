// Chance from a seed: xoshiro256** started by splitmix64. Our own, because the standard's distributions give
// other numbers on other libraries, and a seed must replay byte for byte in every build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.hpp"
#include "base/time.hpp"

namespace fenceline::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      word = mixed ^ (mixed >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotated(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return result;
  }

  // Uniform in [0, count). The bias of the remainder is far below what any test here can see.
  std::size_t below(std::size_t count) {
    check(count > 0, "a choice among nothing");
    return static_cast<std::size_t>(next() % count);
  }

  // Uniform in [least, most], both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    check(least <= most, "a range that ends before it starts");
    return least + static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(most - least) + 1));
  }
  Duration between(Duration least, Duration most) { return Duration{between(least.count(), most.count())}; }

  // True with this probability. Compares whole numbers of 2^-53, which are exact everywhere.
  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability; }

  template <class Container>
  const auto& pick(const Container& from) {
    return from[below(from.size())];
  }

 private:
  static constexpr std::uint64_t rotated(std::uint64_t word, int by) { return (word << by) | (word >> (64 - by)); }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace fenceline::sim
