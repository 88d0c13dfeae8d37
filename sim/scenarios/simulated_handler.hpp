// The handler of a simulated worker: takes virtual time, acts now and then as a careful handler does, and has
// the habits of its plan.
#pragma once

#include "services/handler.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

class SimulatedHandler final : public Handler {
 public:
  SimulatedHandler(World& world, SimRuntime& process) : world_(world), process_(process) {}

  RunResult run(const Run& run) override;

 private:
  // False if it was stopped, or saw its trust end.
  bool work(const Run& run, Duration takes, bool stubborn);
  // Does something to the world, and perhaps says so.
  void act(const Run& run);
  RunResult result();

  World& world_;
  SimRuntime& process_;
};

}  // namespace fenceline::sim
