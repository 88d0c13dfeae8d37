// The order of ready jobs: lanes, in each the priorities, in each the run times. Each priority is one seek, so that
// delayed jobs of a high one cost nothing, however many they are.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

inline constexpr std::int64_t kCommonLane = 0;
inline constexpr std::int64_t kAloneLane = 1;  // jobs that must run alone: they do not lie in the way of others

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

// Whether some job of the lane could be granted now.
bool some_due(Call& call, const std::vector<std::int64_t>& queues, std::int64_t lane);

// In how long the next run time comes, of all lanes; what is due already is not ahead.
std::optional<Duration> next_run(Call& call, const std::vector<std::int64_t>& queues);

// How many jobs of all lanes have their run time ahead; stops at `most`.
std::int64_t count_ahead(Call& call, const std::vector<std::int64_t>& queues, std::int64_t most);

}  // namespace fenceline::sqlite
