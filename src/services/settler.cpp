#include "services/settler.hpp"

#include <algorithm>

#include "base/crash_point.hpp"
#include "base/utc_text.hpp"
#include "base/valid_text.hpp"
#include "services/backoff.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kSettlementsInACall = 1000;
constexpr std::size_t kLoggedErrorMost = 2000;
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

bool ends_dead(const Job& job, const Outcome& outcome) {
  return outcome.kind == OutcomeKind::dead ||
         (outcome.kind == OutcomeKind::failed && job.failures + 1 >= job.attempts_max);
}

// What people ask about an outcome: where, how long, which attempt; why it failed, and what comes next.
std::vector<LogField> how_it_ended(const Delivery& delivery, const Outcome& outcome, WallTime now) {
  const Job& job = delivery.job;
  std::vector<LogField> fields{{"queue", job.queue}, {"attempt", job.failures + 1}};
  if (delivery.ran) fields.emplace_back("duration_us", delivery.ran->count());
  if (outcome.exit_status) fields.emplace_back("exit_status", *outcome.exit_status);
  if (outcome.kind == OutcomeKind::failed || outcome.kind == OutcomeKind::dead) {
    const bool over = ends_dead(job, outcome);
    fields.emplace_back("error", as_text(outcome.error, kLoggedErrorMost));
    fields.emplace_back("attempts_max", job.attempts_max);
    fields.emplace_back("attempts_left", over ? 0 : job.attempts_max - job.failures - 1);
  }
  const bool again =
      outcome.kind == OutcomeKind::later || (outcome.kind == OutcomeKind::failed && !ends_dead(job, outcome));
  if (!again) return fields;
  fields.emplace_back("retry_in_us", outcome.retry_in.count());
  fields.emplace_back("next_try", utc_text(now + outcome.retry_in));
  return fields;
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
      const auto moved = std::ranges::find_if(
          reply->moved, [&](const ItemMoved& m) { return m.id == settlement.id && m.fence == settlement.fence; });
      accepted(settlement, moved == reply->moved.end() ? nullptr : &*moved);
    } else {
      context_.log_refusal("settle", *refused);
      context_.hint_orders();  // an operator may have ended it
    }
    context_.holdings.settled({settlement.id, settlement.fence});
  }
  return true;
}

void Settler::accepted(const Settlement& settlement, const ItemMoved* moved) {
  const Outcome& outcome = settlement.outcome;
  context_.count(counter_of(outcome.kind));
  if (moved != nullptr && outcome.kind == OutcomeKind::done) context_.count(&WorkReport::moved);
  std::vector<LogField> fields{{"job", to_string(settlement.id)},
                               {"owner", context_.owner},
                               {"fence", settlement.fence},
                               {"outcome", to_string(outcome.kind)}};
  const DeliveryPtr delivery = context_.holdings.find({settlement.id, settlement.fence});
  if (!delivery) return context_.log.info("job_settled", std::move(fields));
  std::vector<LogField> how = how_it_ended(*delivery, outcome, context_.runtime.wall_now());
  fields.insert(fields.end(), how.begin(), how.end());
  if (moved != nullptr) fields.emplace_back("moved_to", moved->to);
  if (moved != nullptr && !moved->waits.empty()) fields.emplace_back("waits_for", moved->waits);
  context_.log.info("job_settled", std::move(fields));
  if (moved != nullptr || !ends_dead(delivery->job, outcome)) return;
  context_.count(&WorkReport::dead);
  std::vector<LogField> dead{{"job", to_string(settlement.id)}, {"owner", context_.owner}, {"fence", settlement.fence}};
  dead.insert(dead.end(), how.begin(), how.end());
  dead.emplace_back("why", outcome.kind == OutcomeKind::dead ? "by_its_handler" : "no_attempts_left");
  context_.log.warn("job_dead", std::move(dead));
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
