// What scripts say on the channel of a namespace.
#pragma once

#include <string_view>

#include "store/store.hpp"

namespace fenceline::redis {

// Whether a message is about what was asked for: "q QUEUE STAGE", "Q QUEUE" (all its stages), "o" (orders), "l NAME" (a
// lock).
bool concerns(std::string_view message, const WatchRequest& request);

}  // namespace fenceline::redis
