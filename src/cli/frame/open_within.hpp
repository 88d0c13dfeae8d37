// The store of a command that waits for a lock: it is waited for as well, as long as for the lock.
#pragma once

#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// Opens the invocation's store, and makes it if need be. While it is away it is tried again, after pauses with jitter,
// the last time at the deadline; once, if that is not ahead. Each try that fails is a failed acquire of `lock` in the
// log. Errors: what opening it said last; held, if it was interrupted.
Result<std::unique_ptr<Store>> open_within(Invocation& invocation, const Log& log, const std::string& lock,
                                           Instant deadline);

// The same as Invocation::open_or_make_store(), with a timeout for the server's answer.
Result<std::unique_ptr<Store>> open_or_make_in_time(const Invocation& invocation, Duration timeout);

}  // namespace fenceline::cli
