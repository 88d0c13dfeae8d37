// What only the side of the worker shows: a handler acts only while its lease lives (L5), is told in time, and a
// job that must run alone has its process to itself (J5).
#pragma once

#include <map>
#include <string>

#include "services/handler.hpp"
#include "sim/checks/store_checks.hpp"
#include "sim/checks/violations.hpp"
#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::sim {

// Clocks off by more than this are outside what L5 promises; their late writes must still be refused.
inline constexpr std::int64_t kDriftPromised = 20'000;  // parts in a million

class HandlerChecks {
 public:
  // `grace`: a process that ran on for so long has had its time to tell its handlers.
  HandlerChecks(const StoreChecks& store, Violations& violations, Tally& tally, Duration grace)
      : store_(store), violations_(violations), tally_(tally), grace_(grace) {}

  void started(const SimRuntime& process, const Run& run);
  // The handler has not been told to stop, its trust has not ended, and it does something to the world.
  void acts(const SimRuntime& process, const Run& run);
  // Its trust has ended and it has not been told to stop.
  void untold(const SimRuntime& process, const Run& run);
  void returned(const SimRuntime& process, const Run& run);
  // The handler is about to kill its process.
  void kills(const SimRuntime& process, const Run& run);
  void ended(const SimRuntime& process) { running_.erase(&process); }

 private:
  bool was_paused(const SimRuntime& process) const;

  const StoreChecks& store_;
  Violations& violations_;
  Tally& tally_;
  Duration grace_;
  // By process, and in it by job: whether it must run alone. Looked up by address, never walked in its order.
  std::map<const SimRuntime*, std::map<Holding, bool>> running_;
};

}  // namespace fenceline::sim
