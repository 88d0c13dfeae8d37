// The order of ready jobs: lanes, in each the priorities, in each the run times. Each priority is one seek, so that
// delayed jobs of a high one cost nothing, however many they are.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

// Whatever stands in the first two lanes and is due can be granted, if its queue is not paused and has room: nobody in
// front of a free job is looked at. The others wait behind gates (see gates.hpp), where they cost nothing.
inline constexpr std::int64_t kCommonLane = 0;
inline constexpr std::int64_t kAloneLane = 1;  // jobs that must run alone
inline constexpr std::int64_t kHeldLane = 2;   // not the head of their group, or a revoked delivery still has the slot
// Jobs of a limit key in a queue with a limit per key, beside those that have a free slot: due, or not yet. The ones
// that must run alone stand in the lane after.
inline constexpr std::int64_t kFullLane = 3;
inline constexpr std::int64_t kEarlyLane = 5;
inline constexpr std::int64_t kLanes = 7;

// The first rank after this one that has jobs in the lane.
std::optional<std::int64_t> next_rank(Call& call, std::int64_t queue_id, std::int64_t lane, std::int64_t after);

// `visit` is called for each priority of the queue, the highest first, until it returns false.
template <class Visit>
void each_rank(Call& call, std::int64_t queue_id, std::int64_t lane, Visit visit) {
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  while (const auto rank = next_rank(call, queue_id, lane, last)) {
    if (!visit(*rank)) return;
    last = *rank;
  }
}

// Whether some job of the lane is due.
bool some_due(Call& call, std::int64_t queue_id, std::int64_t lane);

// How many jobs of the lane are due; stops at `most`.
std::int64_t count_due(Call& call, std::int64_t queue_id, std::int64_t lane, std::int64_t most);

// In how long the next run time comes, of all lanes; what is due already is not ahead.
std::optional<Duration> next_run(Call& call, const std::vector<std::int64_t>& queues);

// How many jobs of all lanes have their run time ahead; stops at `most`.
std::int64_t count_ahead(Call& call, const std::vector<std::int64_t>& queues, std::int64_t most);

}  // namespace fenceline::sqlite
