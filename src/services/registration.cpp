#include "services/registration.hpp"

#include <algorithm>

#include "base/crash_point.hpp"

namespace fenceline {

Result<void> Registration::report() {
  const WorkerOptions& options = context_.options;
  const WorkerReport row{.ns = options.ns,
                         .owner = context_.owner,
                         .host = options.host,
                         .pid = options.pid,
                         .version = options.version,
                         .queues = options.queues,
                         .stage = options.stage,
                         .concurrency = options.concurrency,
                         .ttl = options.ttl,
                         .holding = context_.holdings.believed(),
                         .timeout = std::min(kCallTimeout, options.ttl / 3)};
  FENCELINE_CRASH_POINT(report_worker_before);
  const Result<void> reported = context_.store.report_worker(row);
  FENCELINE_CRASH_POINT(report_worker_after);
  if (reported) {
    context_.store_answered();
  } else if (may_repeat(reported.error().code)) {
    context_.store_failed("report_worker", reported.error());
  } else {
    return reported;
  }
  return {};
}

void Registration::keep_reporting(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.reporter->notify(); });
  while (!stop.stop_requested()) {
    context_.reporter->wait_until(context_.runtime.now() + context_.times.renew_after);
    if (stop.stop_requested()) return;
    if (const Result<void> reported = report(); !reported) return context_.give_up(reported.error());
  }
}

void Registration::remove() {
  FENCELINE_CRASH_POINT(remove_worker_before);
  const Result<void> removed = context_.store.remove_worker(context_.options.ns, context_.owner);
  FENCELINE_CRASH_POINT(remove_worker_after);
  if (!removed) context_.store_failed("remove_worker", removed.error());
}

}  // namespace fenceline
