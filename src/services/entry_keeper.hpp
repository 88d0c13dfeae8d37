// Looks after the entry conditions of a worker's pipelines, beside its own work: when the time for an approval is over
// it does what the pipeline says, and it runs check commands, if it was told how. Each condition that needs one has a
// worker of its own, so that its items are leased and fenced like all work. Follows edits of the pipelines: what waits
// for people by a condition that was edited is looked at by the new rule, also if whoever edited it died before that
// (J8).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/log.hpp"
#include "handler/handler.hpp"
#include "runtime/runtime.hpp"
#include "services/stage_store.hpp"
#include "services/worker.hpp"

namespace fenceline {

// What runs the check of a stage: done lets the item in, dead sends it back with its error, all else asks for a
// later look. Empty: this process runs none.
using MakeCheck = std::function<std::unique_ptr<Handler>(const StageSpec& stage)>;

class EntryKeeper {
 public:
  // `worker`: as the options of the worker at whose side it is. All references must outlive it.
  EntryKeeper(Runtime& runtime, Log log, StageStore& store, WorkerOptions worker, MakeCheck make_check);

  // Until `stop`. A store that is away is waited for.
  void keep(std::stop_token stop);

 private:
  Runtime& runtime_;
  Log log_;
  StageStore& store_;
  const WorkerOptions options_;
  const MakeCheck make_check_;
};

}  // namespace fenceline
