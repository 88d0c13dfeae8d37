// Who keeps old rows of the server from being removed, and for how long.
#pragma once

#include "backends/postgres/pool.hpp"
#include "store/store.hpp"

namespace fenceline::postgres {

// The one that holds it furthest back; a warning if for longer than this, or by a million transactions. Errors: as
// Pool::run.
Result<Finding> horizon_finding(Pool& pool, Duration held_most);

// The remedy for a slot that nobody uses: a standby that is only being started anew has one, too.
std::string looks_at_and_drops_slot(const Dsn& dsn, const std::string& name);

}  // namespace fenceline::postgres
