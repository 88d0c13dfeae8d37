// What a lock client counts, raised from any thread; a snapshot of it is public: LockCounts in
// fenceline/lock_client.hpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "fenceline/lock_client.hpp"

namespace fenceline {

// One X(name) for each member of LockCounts.
#define FENCELINE_LOCK_COUNTS(X) \
  X(acquired)                    \
  X(contended)                   \
  X(waited)                      \
  X(not_obtained)                \
  X(acquire_failures)            \
  X(renewals)                    \
  X(renewal_failures)            \
  X(lost)                        \
  X(abandoned)                   \
  X(fail_open)                   \
  X(released)                    \
  X(release_failures)            \
  X(soft_timeouts)               \
  X(skipped_held)                \
  X(skipped_failed)

struct LockCounters {
#define FENCELINE_LOCK_COUNT(name) std::atomic<std::int64_t> name{0};
  FENCELINE_LOCK_COUNTS(FENCELINE_LOCK_COUNT)
#undef FENCELINE_LOCK_COUNT

  LockCounts snapshot() const {
    LockCounts counts;
#define FENCELINE_LOCK_COUNT(name) counts.name = name.load(std::memory_order_relaxed);
    FENCELINE_LOCK_COUNTS(FENCELINE_LOCK_COUNT)
#undef FENCELINE_LOCK_COUNT
    return counts;
  }
};
static_assert(sizeof(LockCounters) == sizeof(LockCounts), "a count is missing in one of them");

}  // namespace fenceline
