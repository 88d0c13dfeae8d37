#include "services/settler.hpp"

#include <algorithm>

#include "base/crash_point.hpp"
#include "services/backoff.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kSettlementsInACall = 1000;
constexpr std::size_t kOutcomeBytesInACall = 8 << 20;  // so that one commit of a store stays small

std::int64_t WorkReport::*counter_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::done: return &WorkReport::done;
    case OutcomeKind::failed:
    case OutcomeKind::dead: return &WorkReport::failed;
    case OutcomeKind::later: return &WorkReport::later;
    case OutcomeKind::given_back: return &WorkReport::given_back;
  }
  return &WorkReport::done;
}

}  // namespace

void Settler::settle(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.settler->notify(); });
  int tries = 0;
  for (;;) {
    const std::vector<Settlement> settlements = context_.holdings.outcomes(kSettlementsInACall, kOutcomeBytesInACall);
    if (settlements.empty()) {
      if (stop.stop_requested()) return;
      context_.settler->wait_until(context_.runtime.now() + kUntilNotified);
      continue;
    }
    if (send(settlements)) {
      tries = 0;
      context_.fetcher->notify();  // a worker that drains or runs one job alone waits for this
      continue;
    }
    const Instant now = context_.runtime.now();
    if (now >= give_up_at_.load() || context_.failure()) {
      drop(settlements);
      context_.fetcher->notify();
      continue;
    }
    const Duration pause =
        backoff(tries++, std::min(kBackoffMost, context_.times.renew_after), context_.runtime.random());
    context_.runtime.sleep_until(now + pause, {});
  }
}

bool Settler::send(const std::vector<Settlement>& settlements) {
  recorder_.record_now(settlements);
  FENCELINE_CRASH_POINT(settle_before);
  const Result<SettleReply> reply =
      context_.store.settle({.ns = context_.options.ns, .owner = context_.owner, .settlements = settlements});
  FENCELINE_CRASH_POINT(settle_after);
  if (!reply) {
    if (may_repeat(reply.error().code)) {
      context_.store_failed("settle", reply.error());
    } else {
      context_.give_up(reply.error());
    }
    return false;
  }
  context_.store_answered();
  for (const Settlement& settlement : settlements) {
    const auto refused = std::ranges::find_if(
        reply->refused, [&](const Refusal& r) { return r.id == settlement.id && r.sent == settlement.fence; });
    if (refused == reply->refused.end()) {
      accepted(settlement);
    } else {
      context_.log_refusal("settle", *refused);
      context_.hint_orders();  // an operator may have ended it
    }
    context_.holdings.settled({settlement.id, settlement.fence});
  }
  return true;
}

void Settler::accepted(const Settlement& settlement) {
  context_.count(counter_of(settlement.outcome.kind));
  context_.log.info("job_settled", {{"job", to_string(settlement.id)},
                                    {"owner", context_.owner},
                                    {"fence", settlement.fence},
                                    {"outcome", to_string(settlement.outcome.kind)}});
}

void Settler::drop(const std::vector<Settlement>& settlements) {
  for (const Settlement& settlement : settlements) {
    context_.log.warn("outcome_dropped", {{"job", to_string(settlement.id)},
                                          {"owner", context_.owner},
                                          {"fence", settlement.fence},
                                          {"outcome", to_string(settlement.outcome.kind)}});
    context_.holdings.settled({settlement.id, settlement.fence});
  }
}

}  // namespace fenceline
