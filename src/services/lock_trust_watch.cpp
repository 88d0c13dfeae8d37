#include "services/lock_trust_watch.hpp"

#include "services/lock_parts.hpp"
#include "services/worker_context.hpp"

namespace fenceline {

void LockTrustWatch::watch(std::stop_token stop) {
  Event& event = *parts_.watch;
  const std::stop_callback wake(stop, [&event] { event.notify(); });
  while (!stop.stop_requested()) {
    const LockHoldings::Overdue overdue = parts_.holdings.overdue(parts_.runtime.now());
    for (const LockStatePtr& state : overdue.told) {
      state->stop.request_stop();
      parts_.log.warn("lock_holder_told_to_stop",
                      {{"lock", state->resource()}, {"owner", state->owner}, {"fence", state->fence()}});
    }
    for (const LockStatePtr& state : overdue.lost) {
      state->stop.request_stop();
      parts_.log_lost(*state, parts_.holdings.why_lost(*state, parts_.runtime.now()));
    }
    for (const LockStatePtr& state : overdue.opened) {
      parts_.counts.fail_open += 1;
      parts_.log.warn(
          "lock_failed_open",
          {{"lock", state->resource()}, {"owner", state->owner}, {"fence", state->fence()}, {"at", "renewal"}});
    }
    const Instant now = parts_.runtime.now();
    const Instant due = parts_.holdings.plan_watch(now).value_or(now + kUntilNotified);
    if (now < due) event.wait_until(due);
  }
}

}  // namespace fenceline
