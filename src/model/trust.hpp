// How long a holder may trust its lease, and when it tries to renew it. All times are derived from the
// ttl, so that a short one is as safe as a long one.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.hpp"
#include "fenceline/lock_options.hpp"

namespace fenceline {

struct LeaseTimes {
  Duration ttl;
  Duration renew_after;   // first renewal after the last success
  Duration margin;        // trust ends this long before the store ends the lease
  Duration grace;         // between telling the work to stop and killing it
  Duration call_timeout;  // of one store call about this lease

  static constexpr LeaseTimes of(Duration ttl) { return {ttl, ttl / 3, ttl / 10, ttl / 6, ttl / 20}; }
};

// What a store says of a lease it granted or renewed. Both were taken at one moment inside the store.
struct Grant {
  Duration left;    // of the ttl
  Duration waited;  // how long the store kept the request waiting before that moment
};

// Counted from the question, not the answer: the store may have started the ttl at any moment between the
// two, and only the earliest is safe. What the store kept us waiting is no part of the ttl.
constexpr Instant trusted_until(Instant asked_at, Instant answered_at, const Grant& grant, const LeaseTimes& times) {
  return std::min(asked_at + grant.waited, answered_at) + grant.left - times.margin;
}

// The work is told to stop here, and killed at `trusted`.
constexpr Instant stop_work_at(Instant trusted, const LeaseTimes& times) { return trusted - times.grace; }

// The moment from which the times of a lease count: the last success, as the end of its trust remembers it.
constexpr Instant counted_from(Instant trusted, const LeaseTimes& times) {
  return trusted - (times.ttl - times.margin);
}

// Offset of try number `n` (from 0) from the last success: the first at ttl/3, the others spread evenly so
// that the last has failed when the work must be told to stop. Empty after the last. For 60 s and 3 tries:
// 20, 30.5 and 41 s; TERM at 44 s, KILL at 54 s.
constexpr std::optional<Duration> renewal_try(int n, const LeaseTimes& times, int tries = kRenewalTries) {
  if (n < 0 || n >= tries) return std::nullopt;
  const Duration last = times.ttl - times.margin - times.grace - times.call_timeout;
  if (tries == 1) return times.renew_after;
  return times.renew_after + (last - times.renew_after) * n / (tries - 1);
}

}  // namespace fenceline
