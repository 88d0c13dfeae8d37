#include "services/worker_context.hpp"

#include <algorithm>

namespace fenceline {
namespace {

constexpr std::size_t kHeldRemembered = 1000;

}  // namespace

void WorkerContext::count(std::int64_t WorkReport::*what, std::int64_t by) {
  const std::lock_guard lock(mutex_);
  report_.*what += by;
}

WorkReport WorkerContext::counted() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void WorkerContext::store_answered() {
  if (store_away_.exchange(false)) log.info("store_back", {{"owner", owner}});
}

void WorkerContext::store_failed(std::string_view verb, const Error& error) {
  if (store_away_.exchange(true)) return;
  log.warn("store_unavailable",
           {{"owner", owner}, {"verb", verb}, {"code", to_string(error.code)}, {"message", error.message}});
}

void WorkerContext::give_up(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = error;
  }
  log.error("worker_failed", {{"owner", owner}, {"code", to_string(error.code)}, {"message", error.message}});
  fetcher->notify();
}

std::optional<Error> WorkerContext::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool ended_by_hold(const Refusal& refusal) {
  return refusal.reason == Reason::settled && refusal.sent == refusal.current;
}

void WorkerContext::log_held(std::string_view verb, const Holding& delivery) {
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(held_, delivery) != held_.end()) return;
    held_.push_back(delivery);
    if (held_.size() > kHeldRemembered) held_.pop_front();
    report_.waiting += 1;
  }
  log.warn("delivery_held",
           {{"job", to_string(delivery.id)}, {"owner", owner}, {"verb", verb}, {"fence", delivery.fence}});
}

void WorkerContext::log_refusal(std::string_view verb, const Refusal& refusal) {
  if (ended_by_hold(refusal)) {
    log_held(verb, {refusal.id, refusal.sent});
    return;
  }
  count(&WorkReport::refused);
  log.warn("stale_write_refused", {{"job", to_string(refusal.id)},
                                   {"owner", owner},
                                   {"verb", verb},
                                   {"stale_fence", refusal.sent},
                                   {"current_fence", refusal.current},
                                   {"reason", std::string(to_string(refusal.reason))}});
}

void WorkerContext::hint_claim() {
  claim_hinted = true;
  fetcher->notify();
}

void WorkerContext::hint_orders() {
  orders_hinted = true;
  orders->notify();
}

void WorkerContext::log_loss(const Delivery& delivery, std::string_view why) {
  // An operator's wish is no trouble of ours.
  count(why == kRevoked ? &WorkReport::revoked : &WorkReport::lost);
  log.warn("lease_lost", {{"job", to_string(delivery.job.id)},
                          {"owner", owner},
                          {"queue", delivery.job.queue},
                          {"fence", delivery.job.fence},
                          {"why", why}});
}

void WorkerContext::log_told(const Delivery& delivery, std::string_view why) {
  std::vector<LogField> fields{{"job", to_string(delivery.job.id)},
                               {"owner", owner},
                               {"queue", delivery.job.queue},
                               {"fence", delivery.job.fence},
                               {"why", why}};
  // A worker that stops does so on a good day.
  if (why == kWorkerStops) log.info("handler_told_to_stop", std::move(fields));
  else log.warn("handler_told_to_stop", std::move(fields));
}

}  // namespace fenceline
