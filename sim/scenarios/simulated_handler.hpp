// The handler of a simulated worker: takes virtual time, acts now and then as a careful handler does, and has
// the habits of its plan.
#pragma once

#include "handler/handler.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

class SimulatedHandler final : public Handler {
 public:
  // `recorder`: none if this seed is not audited.
  SimulatedHandler(World& world, SimRuntime& process, history::Recorder* recorder)
      : world_(world), process_(process), recorder_(recorder) {}

  RunResult run(const Run& run) override;

 private:
  // False if it was stopped, or saw its trust end.
  bool work(const Run& run, Duration takes, bool obstinate);
  // Does something to the world, and perhaps says so.
  void act(const Run& run);
  RunResult result();
  static void note(history::Recorder* recorder, history::Kind kind, const Run& run) {
    if (recorder) recorder->handler(kind, run.job.owner, run.job.id, run.job.fence);
  }

  World& world_;
  SimRuntime& process_;
  history::Recorder* recorder_;
};

}  // namespace fenceline::sim
