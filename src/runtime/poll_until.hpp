// Waits for a socket by the clock of a runtime.
#pragma once

#include <stop_token>

#include "runtime/clock.hpp"

namespace fenceline {

// Whether something of `events` came, an error included, before the deadline and before a stop was asked for.
bool poll_until(const Clock& clock, int socket, short events, Instant deadline, const std::stop_token& stop = {});

}  // namespace fenceline
