// J6: one unfinished job for a unique key in its queue, and a while beyond; and the ids that stand for another job
// because of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// Names belong to a home. The number of the job that has the key at this moment.
std::optional<std::int64_t> key_holder(Call& call, std::int64_t home_id, const std::string& key);
void take_key(Call& call, std::int64_t home_id, const std::string& key, std::int64_t seq);
// The job is finished; it keeps its key for the time that it asked for.
void release_key(Call& call, const Delivery& finished);

// What a job's extras say; for the few verbs that need names.
Job extras_of(Call& call, std::int64_t seq);

}  // namespace fenceline::sqlite
