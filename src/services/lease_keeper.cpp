#include "services/lease_keeper.hpp"

#include <algorithm>

#include "base/crash_point.hpp"

namespace fenceline {
namespace {

const Refusal* find_refusal(const ExtendReply& reply, const Holding& holding) {
  const auto found = std::ranges::find_if(
      reply.refused, [&](const Refusal& r) { return r.id == holding.id && r.sent == holding.fence; });
  return found == reply.refused.end() ? nullptr : &*found;
}

}  // namespace

void LeaseKeeper::keep(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.keeper->notify(); });
  while (!stop.stop_requested()) {
    const Instant now = context_.runtime.now();
    const Instant due = context_.holdings.next_renewal().value_or(now + kUntilNotified);
    if (now < due) {
      context_.keeper->wait_until(due);
    } else {
      renew();
    }
  }
}

void LeaseKeeper::renew() {
  const Instant asked_at = context_.runtime.now();
  const Holdings::Renewal renewal = context_.holdings.begin_renewal(asked_at);
  ExtendRequest request{.ns = context_.options.ns,
                        .owner = context_.owner,
                        .ttl = context_.times.ttl,
                        .timeout = context_.times.call_timeout};
  for (const DeliveryPtr& delivery : renewal.live) request.jobs.push_back(delivery->holding());
  for (const DeliveryPtr& delivery : renewal.late) request.jobs.push_back(delivery->holding());
  if (request.jobs.empty()) return;

  FENCELINE_CRASH_POINT(extend_before);
  const Result<ExtendReply> reply = context_.store.extend(request);
  FENCELINE_CRASH_POINT(extend_after);
  const Instant answered_at = context_.runtime.now();
  if (reply) {
    context_.store_answered();
    apply(renewal, *reply, asked_at, answered_at);
    return;
  }
  context_.log.warn(
      "renewal_failed",
      {{"owner", context_.owner}, {"jobs", request.jobs.size()}, {"code", to_string(reply.error().code)}});
  if (!may_repeat(reply.error().code)) return context_.give_up(reply.error());
  context_.store_failed("extend", reply.error());
  context_.holdings.put_off(renewal.late, answered_at + context_.times.renew_after);
}

void LeaseKeeper::apply(const Holdings::Renewal& renewal, const ExtendReply& reply, Instant asked_at,
                        Instant answered_at) {
  const Grant grant{.left = reply.left, .waited = reply.waited};
  const Instant trusted = trusted_until(asked_at, answered_at, grant, context_.times);
  for (const DeliveryPtr& delivery : renewal.live) {
    if (const Refusal* refusal = find_refusal(reply, delivery->holding())) {
      if (!context_.holdings.refused(delivery, answered_at)) continue;
      delivery->stop.request_stop();
      context_.log_refusal("extend", *refusal);
      if (!ended_by_hold(*refusal)) context_.log_loss(*delivery, std::string(to_string(refusal->reason)));
    } else if (context_.holdings.renewed(delivery, answered_at, reply.left)) {
      delivery->trust.move_to(trusted);
    }
  }
  // Their loss was logged when it happened. Should the store have extended one after all, it ends by itself.
  for (const DeliveryPtr& delivery : renewal.late) {
    if (const Refusal* refusal = find_refusal(reply, delivery->holding())) context_.log_refusal("extend", *refusal);
  }
  if (reply.refused.empty()) return;
  context_.fetcher->notify();  // places may have become free
  context_.watch->notify();    // a handler must return in time
  context_.hint_orders();      // an operator may have ended it
}

}  // namespace fenceline
