#include "services/trust_watch.hpp"

namespace fenceline {

void TrustWatch::watch(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.watch->notify(); });
  while (!stop.stop_requested()) {
    const Holdings::Overdue overdue = context_.holdings.overdue(context_.runtime.now());
    for (const DeliveryPtr& delivery : overdue.told) {
      delivery->stop.request_stop();
      context_.log.warn(
          "handler_told_to_stop",
          {{"job", to_string(delivery->job.id)}, {"owner", context_.owner}, {"fence", delivery->job.fence}, {"why", "lease_not_renewed"}});
    }
    for (const DeliveryPtr& delivery : overdue.lost) {
      delivery->stop.request_stop();
      context_.log_loss(*delivery, "trust_ended");
    }
    if (overdue.given_back > 0) context_.settler->notify();
    if (!overdue.lost.empty()) {
      context_.keeper->notify();   // to see the store's refusal
      context_.fetcher->notify();  // places may have become free
    }
    const Instant now = context_.runtime.now();
    context_.watch->wait_until(context_.holdings.next_deadline().value_or(now + kUntilNotified));
  }
}

}  // namespace fenceline
