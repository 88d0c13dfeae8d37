// A lock as a value: its mode, what was granted, who has it and who waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/fence.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

enum class LockMode {
  exclusive,  // one holder
  shared,     // any number of holders, and no exclusive one; all holders of one shared phase have one fence
};

std::string_view to_string(LockMode mode);

inline constexpr std::size_t kLocksAtOnceMax = 16;  // names in one request
inline constexpr int kLockSlotsMax = 1000;
inline constexpr std::size_t kLockPeopleShown = 10;  // holders and waiters in a LockRow

struct LockGrant {
  std::string resource;  // the lock's name, or "name#3" for one of several slots
  Fence fence = 0;
  std::string previous_owner;  // whose lease expired without a release; empty: it was free, or never held

  bool operator==(const LockGrant&) const = default;
};

struct LockHolder {
  std::string owner;
  std::string place;  // "host:pid"
  WallTime granted_at;
  Duration left{};  // of its lease; negative: it expired, and no one has taken over yet

  bool operator==(const LockHolder&) const = default;
};

struct LockWaiter {
  std::string owner;
  std::string place;
  WallTime since;
  LockMode mode = LockMode::exclusive;

  bool operator==(const LockWaiter&) const = default;
};

struct LockRow {
  std::string resource;
  Fence fence = 0;  // the newest
  LockMode mode = LockMode::exclusive;
  std::string pattern;  // of the last grant
  std::vector<LockHolder>
      holders;  // that did not release; by the time of their grant, then owner; at most kLockPeopleShown
  std::int64_t holders_count = 0;
  std::optional<Duration> free_in;  // until it is free, if it is not renewed; empty: it is free
  std::vector<LockWaiter> waiters;  // of its name, in turn; at most kLockPeopleShown. Of a slot but the first: none
  std::int64_t waiters_count = 0;
  std::optional<Fence> seen_at_gate;  // the largest fence of this resource that a gate inside the store let in

  bool operator==(const LockRow&) const = default;
};

}  // namespace fenceline
