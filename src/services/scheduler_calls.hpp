// What the two halves of the scheduler share.
#pragma once

#include "services/backoff.hpp"
#include "services/scheduler.hpp"

namespace fenceline {

// An account is ahead of the clock only if it is by more: what we know of the store's clock is a little old.
inline constexpr Duration kClockStep = std::chrono::seconds{1};

// Not retry_until_known(): it repeats for as long as it leads, and whatever else is answered, the next look at the
// store tells what became of the ticks. Nothing is reported to anyone.
template <class Call>
auto Scheduler::sure(const Call& call, const std::stop_token& stop) {
  for (int tries = 0;; ++tries) {
    auto reply = call();
    if (reply || reply.error().code != Code::in_doubt || !lead_.has()) return reply;
    counters_.repeats += 1;
    if (!runtime_.sleep_for(backoff(tries, kBackoffMost, runtime_.random()), stop)) return reply;
  }
}

}  // namespace fenceline
