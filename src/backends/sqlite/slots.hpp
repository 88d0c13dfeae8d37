// Slots of deliveries that an operator, or a doubt about an effect, ended: kept until their worker says stopped, or
// their lease would have ended. The next claim on the queue clears away what has ended; until then whoever only reads
// looks at the lease end.
#pragma once

#include <cstdint>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// `delivery` as it stood while it ran, with its place known. One whose lease has ended keeps no slot.
void keep_slot(Call& call, std::int64_t ns_id, const Delivery& delivery);

// Frees those of the queue whose lease would have ended, and lets out whom they held back.
void free_ended_slots(Call& call, std::int64_t home_id);

}  // namespace fenceline::sqlite
