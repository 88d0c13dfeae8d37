// Numbers of jobs: the order of enqueue, and of places in a group. None is ever given twice.
#pragma once

#include <cstdint>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

// The number of the next job.
std::int64_t next_seq(Call& call);
// A number for something else than a job: no job gets it.
std::int64_t take_seq(Call& call);

}  // namespace fenceline::sqlite
