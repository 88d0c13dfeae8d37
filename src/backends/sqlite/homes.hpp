// A queue with all its stages: its settings, its pause, who runs in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

struct Home {
  std::int64_t id = 0;
  QueueSettings settings;
  std::optional<QueuePause> paused;
};

Home read_home(Call& call, std::int64_t home_id);
// Running jobs of one limit key that the queue allows; 0: as many as workers take.
int per_key_most(Call& call, std::int64_t home_id);
// Whether running jobs are limited, so that the end of one may let another begin.
bool is_limited(Call& call, std::int64_t home_id);
std::vector<std::int64_t> stages_of(Call& call, std::int64_t home_id);

// Slots of the queue that are taken: running jobs, by the rows of their claims, and revoked deliveries.
std::int64_t slots_taken(Call& call, std::int64_t home_id);
// How many more may run; empty: as many as workers take.
std::optional<std::int64_t> room_in(Call& call, const Home& home);

// Where a slot became free, all stages may have something to claim.
void awaken_stages(Call& call, std::int64_t home_id);

}  // namespace fenceline::sqlite
