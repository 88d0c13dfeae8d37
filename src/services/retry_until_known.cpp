#include "services/retry_until_known.hpp"

#include "base/verdict_text.hpp"

namespace fenceline {

AfterDoubt after_doubt(Code code) {
  switch (code) {
    case Code::in_doubt:
    case Code::unavailable:
    case Code::full: return AfterDoubt::again;
    case Code::invalid:
    case Code::denied:
    case Code::refused: return AfterDoubt::for_good;
    case Code::held:
    case Code::lost:
    case Code::not_found:
    case Code::conflict:
    case Code::broken: return AfterDoubt::known;
  }
  return AfterDoubt::known;
}

Error error_after_doubt(Error error) {
  if (error.code == Code::in_doubt || after_doubt(error.code) == AfterDoubt::known) return error;
  return {Code::in_doubt,
          without_verdict(std::move(error.message)) +
              "; an earlier attempt got no reply and may have taken effect: check before you repeat it"};
}

Result<EnqueueReply> enqueue_until_known(Runtime& runtime, const std::stop_token& stop, JobStore& store,
                                         const EnqueueRequest& request, RetryPolicy policy) {
  bool doubted = false;
  Result<EnqueueReply> reply = retry_until_known(
      runtime, stop, [&] { return store.enqueue(request); }, policy, &doubted);
  if (reply && doubted) reply->existing = 0;
  return reply;
}

}  // namespace fenceline
