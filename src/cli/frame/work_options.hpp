// What `fenceline work` is told in the same words on every store.
#pragma once

#include "cli/frame/command.hpp"
#include "services/end_policy.hpp"

namespace fenceline::cli {

// --on END=OUTCOME. Errors: usage.
Result<EndPolicy> ends_from(const Invocation& invocation);

}  // namespace fenceline::cli
