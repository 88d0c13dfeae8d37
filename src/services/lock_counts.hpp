// What a lock client did, counted since its start. Nothing is decided by it.
#pragma once

#include <atomic>
#include <cstdint>

namespace fenceline {

// One X(name) a count.
#define FENCELINE_LOCK_COUNTS(X)                                                                                     \
  X(acquired)         /* grants that were used; re-entries are none */                                               \
  X(contended)        /* requests that found their lock taken, in this process or at the store */                    \
  X(waited)           /* of these, those that were granted in the end */                                             \
  X(not_obtained)     /* requests that ended without the lock: taken, cancelled or the store away */                 \
  X(acquire_failures) /* calls to acquire that the store did not answer, or too late */                              \
  X(renewals)         /* leases renewed */                                                                           \
  X(renewal_failures) /* leases whose renewal was not answered, each try */                                          \
  X(lost)             /* leases given up while they were held: not renewed in time, broken, or taken over */         \
  X(abandoned)        /* handles dropped without a release, and acquires in doubt that could not be taken back */    \
  X(fail_open)        /* work done, or gone on, without the lock because the store was away and the class said so */ \
  X(released)                                                                                                        \
  X(release_failures) /* releases that the store did not answer: those locks end by themselves */                    \
  X(soft_timeouts)    /* singletons that took longer than they should */                                             \
  X(skipped_held)     /* singletons and loops that did not run because somebody else had the lock */                 \
  X(skipped_failed)   /* and because the store was away */

struct LockCounts {
#define FENCELINE_LOCK_COUNT(name) std::int64_t name = 0;
  FENCELINE_LOCK_COUNTS(FENCELINE_LOCK_COUNT)
#undef FENCELINE_LOCK_COUNT
};

// The same, raised from any thread.
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

}  // namespace fenceline
