// What acts of people and changes of items share: how a job leaves the place where it stands.
#pragma once

#include <cstdint>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// A running job leaves its claim under a new fence, so that whoever held it is refused from now on; its slot stays
// taken. Its place is known. Errors: refused.
Result<void> revoke(Call& call, std::int64_t ns_id, AttemptEnd end, Delivery& delivery);
// Out of `ready`, or out of `waiting`.
void drop_idle(Call& call, const Delivery& delivery);
// Into `ready` at this run time, from the state in which it stood; out of where it stood it is already.
void make_ready(Call& call, JobState from, std::int64_t run_at, Delivery& delivery);

}  // namespace fenceline::sqlite
