// What only the side of the worker shows: a handler acts only while its lease lives (L5), is told in time, and a
// job that must run alone has its process to itself (J5).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "handler/handler.hpp"
#include "sim/checks/store_checks.hpp"
#include "sim/checks/violations.hpp"
#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::sim {

class HandlerChecks {
 public:
  // `grace`: a process that ran on for so long has had its time to tell its handlers. `drift_promised`: clocks off by
  // more, in parts of a million, are outside L5.
  HandlerChecks(const StoreChecks& store, Violations& violations, Tally& tally, Duration grace,
                std::int64_t drift_promised)
      : store_(store), violations_(violations), tally_(tally), grace_(grace), drift_promised_(drift_promised) {}

  // How long a handler may act on after its worker learned that its job was cancelled or retried, and, if not zero,
  // after the act itself: in weather in which nothing is lost a worker learns in time.
  void expect_stops(Duration after_learning, Duration after_act) {
    stops_after_learning_ = after_learning;
    stops_after_act_ = after_act;
  }

  Duration stops_after_learning() const { return stops_after_learning_; }

  void started(const SimRuntime& process, const Run& run);
  // The handler has not been told to stop, its trust has not ended, and it does something to the world.
  void acts(const SimRuntime& process, const Run& run);
  // Its trust has ended and it has not been told to stop.
  void untold(const SimRuntime& process, const Run& run);
  void returned(const SimRuntime& process, const Run& run);
  // The handler is about to kill its process. Returns what else its worker believes to hold, and so loses by it.
  std::vector<Holding> kills(const SimRuntime& process, const Run& run);
  void ended(const SimRuntime& process);
  // Workers tell what they hold: a grant whose reply was lost, or that was given up, is nobody's neighbour.
  void logged(const LogEvent& event);
  // A store told the worker in this process that an operator ended this delivery.
  void learned(const SimRuntime& process, const Holding& delivery);
  // A worker gave the slots of these deliveries free: nothing of them may run any more.
  void said_stopped(const StoppedRequest& request);
  // An attempt goes on though its time is over, and nobody told it.
  void overdue(const SimRuntime& process, const Run& run);

 private:
  bool was_paused(const SimRuntime& process) const;
  void acts_after_revocation(const SimRuntime& process, const Run& run);

  const StoreChecks& store_;
  Violations& violations_;
  Tally& tally_;
  Duration grace_;
  std::int64_t drift_promised_;
  // By process, and in it by job: whether it must run alone. Looked up by address, never walked in its order.
  std::map<const SimRuntime*, std::map<Holding, bool>> running_;
  std::map<std::string, std::set<Holding>> believed_;                // by owner
  std::map<const SimRuntime*, std::map<Holding, Instant>> learned_;  // true time; looked up by address only
  Duration stops_after_learning_ = std::chrono::seconds{1};
  Duration stops_after_act_{0};
};

}  // namespace fenceline::sim
