#pragma once

#include <libpq-fe.h>

#include <memory>

namespace fenceline::bench {

struct ClearAnswer {
  void operator()(PGresult* result) const { PQclear(result); }
};
// What PostgreSQL answered.
using Answer = std::unique_ptr<PGresult, ClearAnswer>;

}  // namespace fenceline::bench
