// Who keeps old rows of the server from being removed, and for how long.
#pragma once

#include "backends/postgres/pool.hpp"
#include "store/store.hpp"

namespace fenceline::postgres {

// The one that holds it furthest back; a warning if for longer than this, or by a million transactions. Errors: as Pool::run.
Result<Finding> horizon_finding(Pool& pool, Duration held_most);

}  // namespace fenceline::postgres
