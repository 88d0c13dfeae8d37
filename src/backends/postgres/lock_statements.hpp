// The plain case of a lock, one statement for a grant and one for a release: no function is called for what one update
// can say. Each finds its row only if nothing else is to be looked at; else the verb's function is called.
#pragma once

#include <string>

#include "backends/postgres/connection.hpp"

namespace fenceline::postgres {

// by_hand: the clock is that of a test, which replaced the function clock(); else these read it themselves, without the
// cost of calling it.

// $1 namespace, $2 name, $3 owner, $4 request, $5 ttl, $6 for how long it is barred (or null), $7 to its end, $8 delay,
// $9 pattern, $10 place: fence, owner before, waited.
Statement acquire_one_lock(const std::string& schema, bool by_hand);
// $1 namespace, $2 name, $3 owner, $4 fence.
Statement release_one_lock(const std::string& schema, bool by_hand);

}  // namespace fenceline::postgres
