// Rows of `waiting`: jobs that nobody runs and nobody may claim until a person has spoken. Their deliveries are over,
// at no cost; a group's head that waits still holds its group, as it stays a member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/seq_ranges.hpp"

namespace fenceline::sqlite {

// From `run` to `waiting`: one of its effects is in doubt. Its slot is kept, and its owner has an order.
void hold(Call& call, std::int64_t ns_id, const std::string& ns, Delivery& delivery);
// Into `waiting`, from the state in which it stood; out of where it stood it is already.
void put_waiting(Call& call, JobState from, Delivery& delivery);
// From `waiting` to `ready`, in its old place.
void release(Call& call, Delivery& delivery);
// It leaves `waiting` for good, and waits for none of its effects any more. The caller puts it elsewhere.
void drop_waiting(Call& call, std::int64_t seq);

// The numbers of this range that wait, ascending.
std::vector<std::int64_t> waiting_among(Call& call, const SeqRange& numbers);

}  // namespace fenceline::sqlite
