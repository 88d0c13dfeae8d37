// An enqueue whose answer got lost is asked again with the same ids, which adds nothing (J1).
#pragma once

#include <stop_token>

#include "base/result.hpp"
#include "runtime/runtime.hpp"
#include "store/job_store.hpp"

namespace fenceline::cli {

inline constexpr int kEnqueueRepeats = 5;

// Repeats while the answer is in doubt: at once, then after 200 ms, doubling; ends early if `stop` is requested.
// Of what a repeat finds there, nothing counts as `existing`: its own first try put it there. Errors: those of
// JobStore::enqueue; in_doubt when the last repeat was too.
Result<EnqueueReply> sure_enqueue(Runtime& runtime, JobStore& store, const EnqueueRequest& request,
                                  const std::stop_token& stop);

}  // namespace fenceline::cli
