// What a Client is made of.
#pragma once

#include <memory>
#include <optional>

#include "fenceline/fenceline.hpp"
#include "runtime/thread_runtime.hpp"
#include "services/item_acts.hpp"
#include "services/lock_client.hpp"
#include "services/pipeline_acts.hpp"
#include "services/schedule_acts.hpp"
#include "session/session.hpp"

namespace fenceline {

struct Client::Parts {
  ThreadRuntime runtime;
  std::optional<Session> session;     // goes before the runtime: its threads are the runtime's
  std::unique_ptr<LockClient> locks;  // goes before the session, and so do the others: they use it
  std::unique_ptr<ScheduleActs> schedules;
  std::unique_ptr<PipelineActs> pipelines;
  std::unique_ptr<ItemActs> items;
};

}  // namespace fenceline
