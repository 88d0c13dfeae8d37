// fenceline doctor on an issue tracker.
#pragma once

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// The token, what is left of the tracker's budget and, with --pipeline FILE, items that are left to people.
Result<int> doctor_of_tracker(Invocation& invocation);

}  // namespace fenceline::cli
