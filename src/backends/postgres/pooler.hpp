// Whether a pooler stands between a store and its server, and of which kind. Sessions of ours tell it: nothing in the
// protocol does.
#pragma once

#include "backends/postgres/dsn.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::postgres {

enum class Pooler {
  none,
  session,      // a connection of ours has a session of the server's to itself
  transaction,  // sessions are shared: what one remembers belongs to nobody, and LISTEN hears nothing
};

// Makes up to three connections of its own, and needs a moment if the pooler has no session to spare. Errors: as
// Connection::connect.
Result<Pooler> pooler_before(Runtime& runtime, const Dsn& dsn, Duration timeout);

}  // namespace fenceline::postgres
