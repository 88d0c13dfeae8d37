// Deliveries that came to an end, for people: one row for each, at most kAttemptsKept of a job. The delivery at hand,
// and the one that finished the job, stand in its own row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// `delivery` as it stood while it ran. A settled one has its outcome.
void end_attempt(Call& call, const Delivery& delivery, AttemptEnd end, const Outcome& outcome = {});
// The attempt that stands in the row of a finished job: that row is about to go.
void keep_attempt(Call& call, const Delivery& finished);
// How long the last delivery took, or has taken so far. Empty: there was none.
std::optional<Duration> last_run(Call& call, const Delivery& delivery);

}  // namespace fenceline::sqlite
