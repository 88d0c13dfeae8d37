// One start of one simulated program, with all that it alone uses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "history/history_store.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/scenarios/simulated_handler.hpp"
#include "sim/scenarios/world.hpp"
#include "sim/store/faulty_store.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {

// Writes into the trace. `error` means a person should look, so here it fails the run.
class ProcessLog final : public LogSink {
 public:
  ProcessLog(World& world, const SimRuntime& process) : world_(world), process_(process) {}

  void write(const LogEvent& event) override {
    if (process_.dead()) return;
    world_.handlers().logged(event);
    Simulation& simulation = process_.simulation();
    if (simulation.trace().on())
      simulation.trace().write(simulation.now(), process_.name(), format_log_line(event, ""));
    const bool no_fence_left = world_.plan().fences_end && event.name == "worker_failed";
    if (event.level == Level::error && !no_fence_left)
      world_.violations().add("log", process_.name() + " logged the error " + format_log_line(event, ""));
  }

 private:
  World& world_;
  const SimRuntime& process_;
};

// Notes when a worker learns what an operator wants: that a delivery has ended, that it should claim nothing more.
class ListeningStore final : public ForwardingStore {
 public:
  ListeningStore(Store& inner, World& world, const SimRuntime& process)
      : ForwardingStore(inner), world_(world), process_(process) {}

  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override {
    Result<OrdersReply> reply = inner_.orders(ns, owner);
    if (!reply) return reply;
    for (const Holding& revoked : reply->revoked) world_.handlers().learned(process_, revoked);
    if (reply->order == WorkerOrder::work) claims_nothing_since_.reset();
    else if (!claims_nothing_since_) claims_nothing_since_ = process_.simulation().now();
    return reply;
  }

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    const bool is_repeat = std::exchange(last_claim_, request.request) == request.request;
    const Instant now = process_.simulation().now();
    // A claim may have been under way to this moment when the order came, and its process stopped in between.
    const bool had_time = claims_nothing_since_ &&
                          now - *claims_nothing_since_ > world_.handlers().stops_after_learning() &&
                          (process_.resumed_at() == Instant{} || process_.resumed_at() < *claims_nothing_since_);
    if (had_time && !is_repeat)
      world_.violations().add("order", process_.name() + " claims though it was ordered to be quiet or to stop");
    return inner_.claim(request);
  }

 private:
  World& world_;
  const SimRuntime& process_;
  std::optional<Instant> claims_nothing_since_;  // true time
  std::string last_claim_;
};

struct World::Process {
  Process(World& world, Machine& machine, const std::string& name, Store& truth, const Weather& weather)
      : runtime(world.simulation(), machine, name),
        log(world, runtime),
        wire(runtime, truth, world.server(), weather, world.tally()),
        recorder(world.history() ? &world.history()->recorder(name) : nullptr),
        noted(recorder && world.history()->of() == Audit::clients
                  ? std::make_unique<history::HistoryStore>(*recorder, wire)
                  : nullptr),
        store(noted ? static_cast<Store&>(*noted) : wire, world, runtime),
        handler(world, runtime, recorder) {}
  // While all that its fibers use is there: what they drop as they unwind may still have something to say.
  ~Process() { runtime.kill(); }

  SimRuntime runtime;
  ProcessLog log;
  FaultyStore wire;
  history::Recorder* recorder;   // none: this seed is not audited
  std::unique_ptr<Store> noted;  // none: the history is not of what it sees
  ListeningStore store;
  SimulatedHandler handler;
};

}  // namespace fenceline::sim
