// Rows of `done`. Plain jobs that were done by their first delivery and follow each other, as those of a batch do,
// share a row: the columns say what they share, and their results stand one after the other. Only retention takes such
// jobs away; dead and cancelled ones, which may be retried, have rows of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// Empty if the job is not finished.
std::optional<Delivery> find_finished(Call& call, std::int64_t seq);

void put_finished(Call& call, const std::vector<Delivery>& deliveries);

// The numbers of finished jobs, in any order.
void drop_finished(Call& call, std::vector<std::int64_t> seqs);

}  // namespace fenceline::sqlite
