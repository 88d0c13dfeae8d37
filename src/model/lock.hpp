// The rules about a lock's name; the lock as a value is public: fenceline/lock.hpp. Stores keep locks and decide who
// has one: store/lock_store.hpp.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/lock.hpp"

namespace fenceline {

inline constexpr std::size_t kLockNoteBytesMax = 256;  // of what an acquire says of itself for people

// A waiter whose turn has come has this long to take the lock; then the next one may.
inline constexpr Duration kLockTurn = std::chrono::seconds{1};
// A waiter that was not heard of for so long has left the queue. One that is alive asks again every kLockAskAgain at
// least.
inline constexpr Duration kLockWaiterKeptFor = std::chrono::seconds{30};
inline constexpr Duration kLockAskAgain = std::chrono::seconds{10};
// A lock that has been free for so long leaves nothing behind but the floor.
inline constexpr Duration kFreeLockKeptFor = std::chrono::minutes{30};

// 1 to 128 letters, digits, '.', '_', '-', ':', '/', '@' or '=', the first a letter or digit. Errors: invalid.
Result<void> check_lock_name(std::string_view name);
// The same, and "#2" to "#1000" behind it: one slot of a lock that several may have. Errors: invalid.
Result<void> check_lock_resource(std::string_view resource);

}  // namespace fenceline
