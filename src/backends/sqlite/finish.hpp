// The end of a job, whoever brought it about: its row in `done`, what retention will look for, and whom it lets go on.
#pragma once

#include <vector>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// Their state and time of finish are set, queue and flags known; they stand in no other table any more.
void finish(Call& call, std::vector<Delivery>& finished, JobState from);

// Retention left a finished job alone for an effect in doubt, and may take it now.
void look_again(Call& call, const Delivery& finished);

}  // namespace fenceline::sqlite
