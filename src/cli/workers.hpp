// Workers as operators see them.
#pragma once

#include "store/worker_registry.hpp"

namespace fenceline::cli {

// It died without a word, or is cut off: not seen for longer than its leases live.
bool is_gone(const WorkerRow& row);

}  // namespace fenceline::cli
