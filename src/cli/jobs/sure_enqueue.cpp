#include "cli/jobs/sure_enqueue.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds{200};

}  // namespace

Result<EnqueueReply> sure_enqueue(Runtime& runtime, JobStore& store, const EnqueueRequest& request,
                                  const std::stop_token& stop) {
  Result<EnqueueReply> reply = store.enqueue(request);
  for (int n = 0; n < kEnqueueRepeats && !reply && reply.error().code == Code::in_doubt; ++n) {
    const Duration delay = n == 0 ? Duration{0} : kFirstDelay * (1 << (n - 1));
    if (!runtime.sleep_for(delay, stop)) return reply;
    reply = store.enqueue(request);
    if (reply) reply->existing = 0;
    // It is still open whether the first try arrived, so "did not happen" would say too much.
    else if (reply.error().code == Code::unavailable) reply.error().code = Code::in_doubt;
  }
  return reply;
}

}  // namespace fenceline::cli
