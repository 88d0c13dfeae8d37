// Repeats a call of the store whose answer was lost, until it is known what became of it. For people's acts and
// producers; what a worker repeats is bounded by its lease instead (effect_runner.cpp, scheduler_calls.hpp).
#pragma once

#include <stop_token>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "store/job_store.hpp"

namespace fenceline {

struct RetryPolicy {
  int repeats = 5;                                  // after the first try
  Duration pause = std::chrono::milliseconds{200};  // before the second repeat, doubling; the first one comes at once
};

// What an answer says of an earlier try of the same call that may have happened.
enum class AfterDoubt {
  known,     // the store looked for the earlier try first, and did not find it; or the code itself leaves it open
  again,     // it speaks of this try alone, and the next one may be answered: still in doubt
  for_good,  // it speaks of this try alone, and every other one would be answered the same: still in doubt
};

// held, lost, not_found, conflict: known. The store recognises a repeat before it applies any rule to it.
// broken: known. It does not say that nothing happened, and a damaged store must not look like a lost answer.
// in_doubt, unavailable, full: again. This try did not arrive, or found no room; the first one may have.
// invalid, denied, refused: for good. What is allowed may have changed since the first try: a pipeline lost a stage,
// a role its rights, or a server that is now a standby refuses what it did a moment ago.
AfterDoubt after_doubt(Code code);

// The error as it may be reported once an earlier try is in doubt: never one that says that nothing happened.
Error error_after_doubt(Error error);

// Calls once, and again with the same arguments while it is in doubt whether the call happened. The call must be one
// that a store recognises when it is repeated. Returns the last answer, or, if `stop` is requested meanwhile, the one
// before. Errors: those of the call, after a doubt as error_after_doubt() has them. `doubted`, if given, is set if a
// try was in doubt.
template <class Call>
auto retry_until_known(Runtime& runtime, const std::stop_token& stop, Call call, RetryPolicy policy = {},
                       bool* doubted = nullptr) -> decltype(call()) {
  auto reply = call();
  if (reply || reply.error().code != Code::in_doubt) return reply;
  if (doubted != nullptr) *doubted = true;
  for (int n = 0; n < policy.repeats; ++n) {
    if (!runtime.sleep_for(n == 0 ? Duration{0} : policy.pause * (1 << (n - 1)), stop)) return reply;
    reply = call();
    if (reply) return reply;
    const AfterDoubt next = after_doubt(reply.error().code);
    reply = std::unexpected(error_after_doubt(std::move(reply.error())));
    if (next != AfterDoubt::again) return reply;
  }
  return reply;
}

// Enqueues once, whatever answers get lost (J1). What a repeat finds there does not count as `existing`: its own first
// try put it there. Errors: those of JobStore::enqueue, after a doubt as above.
Result<EnqueueReply> enqueue_until_known(Runtime& runtime, const std::stop_token& stop, JobStore& store,
                                         const EnqueueRequest& request, RetryPolicy policy = {});

}  // namespace fenceline
