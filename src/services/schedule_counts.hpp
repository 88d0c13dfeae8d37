// What a scheduler did, counted since its start. Nothing is decided by it.
#pragma once

#include <atomic>
#include <cstdint>

namespace fenceline {

// One X(name) a count.
#define FENCELINE_SCHEDULE_COUNTS(X)                                                                       \
  X(terms)         /* how often it took the lead */                                                        \
  X(fired)         /* ticks, each with a job that this process enqueued */                                 \
  X(skipped)       /* ticks, each of a range counted */                                                    \
  X(duplicates)    /* ticks that it wanted to fire and that had fired before */                            \
  X(steps)         /* taken by the store */                                                                \
  X(steps_refused) /* because somebody else was there before, the schedule was changed, or it was early */ \
  X(repeats)       /* of steps in doubt */                                                                 \
  X(failures)      /* calls that the store did not answer */                                               \
  X(cancelled)     /* jobs of earlier ticks, for a later one */                                            \
  X(rewinds)       /* accounts moved back because the store's clock was */                                 \
  X(on_time)       /* of the fired ones, within a minute of their instant */                               \
  X(late_total)    /* microseconds that these came after their instant, on the store's clock */            \
  X(late_most)     /* of one of them */

struct ScheduleCounts {
#define FENCELINE_SCHEDULE_COUNT(name) std::int64_t name = 0;
  FENCELINE_SCHEDULE_COUNTS(FENCELINE_SCHEDULE_COUNT)
#undef FENCELINE_SCHEDULE_COUNT
};

// The same, raised by the scheduler and read from any thread.
struct ScheduleCounters {
#define FENCELINE_SCHEDULE_COUNT(name) std::atomic<std::int64_t> name{0};
  FENCELINE_SCHEDULE_COUNTS(FENCELINE_SCHEDULE_COUNT)
#undef FENCELINE_SCHEDULE_COUNT

  ScheduleCounts snapshot() const {
    ScheduleCounts counts;
#define FENCELINE_SCHEDULE_COUNT(name) counts.name = name.load(std::memory_order_relaxed);
    FENCELINE_SCHEDULE_COUNTS(FENCELINE_SCHEDULE_COUNT)
#undef FENCELINE_SCHEDULE_COUNT
    return counts;
  }
};

}  // namespace fenceline
