// A worker of queues that may have pipelines, as the program and the library start it: its store moves items through
// their stages, and their entry conditions are looked after beside it.
#pragma once

#include <stop_token>

#include "base/log.hpp"
#include "base/result.hpp"
#include "handler/handler.hpp"
#include "runtime/runtime.hpp"
#include "services/entry_keeper.hpp"
#include "services/pipeline_book.hpp"
#include "services/worker.hpp"
#include "store/store.hpp"

namespace fenceline {

// What whoever starts the worker has said: that counts, whatever the stage says.
struct SaidOfWorker {
  bool ttl = false;
  bool concurrency = false;
};

// Makes the options what the stage of a pipeline says, and answers the pipelines of its queues. A store that is away is
// waited for, until `stop`: then there are none. Errors: invalid (no such stage; it is the first one of one queue and
// not of another), those of the store.
Result<KnownPipelines> fit_to_stage(Runtime& runtime, Store& store, WorkerOptions& options, const SaidOfWorker& said,
                                    std::stop_token stop);

// JobWorker::run, with all that pipelines need. Without `make_check` check commands are left to others.
Result<WorkReport> work_stages(Runtime& runtime, Log log, Store& store, Handler& handler, const WorkerOptions& options,
                               MakeCheck make_check, std::stop_token stop);

}  // namespace fenceline
