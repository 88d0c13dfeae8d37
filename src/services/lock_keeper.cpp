#include "services/lock_keeper.hpp"

#include <map>

#include "services/lock_parts.hpp"
#include "services/worker_context.hpp"

namespace fenceline {

void LockKeeper::keep(std::stop_token stop) {
  Event& event = *parts_.keepers[number_];
  const std::stop_callback wake(stop, [&event] { event.notify(); });
  while (!stop.stop_requested()) {
    const Instant now = parts_.runtime.now();
    const Instant due = parts_.holdings.plan_renewal(number_, now).value_or(now + kUntilNotified);
    if (now < due) {
      event.wait_until(due);
      continue;
    }
    for (const LockHoldings::Group& group : parts_.holdings.begin_renewal(number_, now, kBatchMax)) renew(group);
  }
}

void LockKeeper::renew(const LockHoldings::Group& group) {
  RenewRequest request{.ns = parts_.options.ns, .ttl = group.ttl, .timeout = group.call_timeout};
  for (const LockStatePtr& state : group.locks) {
    if (!parts_.holdings.holds(*state)) continue;  // released while another group was renewed
    for (LockHolding& holding : state->holdings()) request.locks.push_back(std::move(holding));
  }
  if (request.locks.empty()) return;
  const Instant asked_at = parts_.runtime.now();
  const Result<RenewReply> reply = parts_.store.renew(request);
  const Instant answered_at = parts_.runtime.now();
  if (reply) return apply(group, *reply, asked_at, answered_at);
  // Whatever it is: another try follows as long as there is time, and the trust watch sees the end of it.
  parts_.counts.renewal_failures += static_cast<std::int64_t>(group.locks.size());
  parts_.log.warn("lock_renewal_failed", {{"lock", group.locks.front()->resource()},
                                          {"locks", request.locks.size()},
                                          {"code", to_string(reply.error().code)},
                                          {"message", reply.error().message}});
}

void LockKeeper::apply(const LockHoldings::Group& group, const RenewReply& reply, Instant asked_at,
                       Instant answered_at) {
  std::map<LockHolding, std::string> refused;
  for (const LockRefusal& refusal : reply.refused) refused.emplace(refusal.sent, to_string(refusal.reason));
  const Grant grant{.left = reply.left, .waited = reply.waited};
  for (const LockStatePtr& state : group.locks) {
    const Instant trusted = trusted_until(asked_at, answered_at, grant, state->times);
    std::string why;
    for (const LockHolding& holding : state->holdings()) {
      const auto found = refused.find(holding);
      if (found != refused.end() && why.empty()) why = found->second;
    }
    if (why.empty()) {
      if (!parts_.holdings.renewed(*state, answered_at, trusted)) continue;
      if (!state->goes_on_open()) state->trust.move_to(trusted);
      parts_.counts.renewals += 1;
    } else if (parts_.holdings.refused(*state, why)) {
      parts_.log_lost(*state, why);
      // Nothing of it counts any more. What runs under it gets a last moment to end by itself.
      state->trust.cut_at(answered_at + stop_grace(state->times), Cut::revoked);
      state->stop.request_stop();
    }
  }
}

}  // namespace fenceline
