// One start of one simulated program, with all that it alone uses.
#pragma once

#include <string>

#include "base/log.hpp"
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
    if (simulation.trace().on()) simulation.trace().write(simulation.now(), process_.name(), format_log_line(event, ""));
    if (event.level == Level::error) world_.violations().add("log", process_.name() + " logged the error " + format_log_line(event, ""));
  }

 private:
  World& world_;
  const SimRuntime& process_;
};

// Notes when a worker learns that an operator ended one of its deliveries.
class ListeningStore final : public ForwardingStore {
 public:
  ListeningStore(Store& inner, HandlerChecks& handlers, const SimRuntime& process)
      : ForwardingStore(inner), handlers_(handlers), process_(process) {}

  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override {
    Result<OrdersReply> reply = inner_.orders(ns, owner);
    if (reply) {
      for (const Holding& revoked : reply->revoked) handlers_.learned(process_, revoked);
    }
    return reply;
  }

 private:
  HandlerChecks& handlers_;
  const SimRuntime& process_;
};

struct World::Process {
  Process(World& world, Machine& machine, const std::string& name, Store& truth, const Weather& weather)
      : runtime(world.simulation(), machine, name),
        log(world, runtime),
        wire(runtime, truth, weather, world.tally()),
        store(wire, world.handlers(), runtime),
        handler(world, runtime) {}

  SimRuntime runtime;
  ProcessLog log;
  FaultyStore wire;
  ListeningStore store;
  SimulatedHandler handler;
};

}  // namespace fenceline::sim
