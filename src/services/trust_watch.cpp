#include "services/trust_watch.hpp"

namespace fenceline {

void TrustWatch::watch(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.watch->notify(); });
  while (!stop.stop_requested()) {
    const Holdings::Overdue overdue = context_.holdings.overdue(context_.runtime.now());
    for (const DeliveryPtr& delivery : overdue.told) {
      delivery->stop.request_stop();
      context_.log_told(*delivery, kLeaseNotRenewed);
    }
    for (const DeliveryPtr& delivery : overdue.timed_out) {
      // First by when it is gone: the order to end follows.
      delivery->trust.cut_at(context_.runtime.now() + stop_grace(context_.times), Cut::timed_out);
      delivery->stop.request_stop();
      context_.log_told(*delivery, kTimedOut);
    }
    for (const DeliveryPtr& delivery : overdue.lost) {
      delivery->stop.request_stop();
      context_.log_loss(*delivery, "trust_ended");
    }
    for (const auto& [delivery, lost] : overdue.ignoring) ignored(*delivery, lost);
    if (overdue.given_back > 0) context_.settler->notify();
    if (!overdue.lost.empty()) {
      context_.keeper->notify();   // to see the store's refusal
      context_.fetcher->notify();  // places may have become free
    }
    const Instant now = context_.runtime.now();
    context_.watch->wait_until(context_.holdings.next_deadline().value_or(now + kUntilNotified));
  }
}

// Nobody can stop a function. One that works on without a lease may do harm that only the end of the process prevents.
void TrustWatch::ignored(const Delivery& delivery, bool lost) {
  const bool ends = lost && context_.options.strict;
  context_.log.warn("handler_ignores_stop", {{"job", to_string(delivery.job.id)},
                                             {"owner", context_.owner},
                                             {"fence", delivery.job.fence},
                                             {"lost", lost},
                                             {"process_ends", ends}});
  if (ends) context_.options.end_process();
}

}  // namespace fenceline
