// The clock of an issue tracker and of all who work on it, in virtual time.
#pragma once

#include <chrono>
#include <string>

#include "runtime/clock.hpp"
#include "sim/runtime/simulation.hpp"

namespace fenceline::sim {

class TrackerClock final : public Clock {
 public:
  explicit TrackerClock(const Simulation& simulation) : simulation_(simulation) {}
  Instant now() const override { return simulation_.now(); }
  WallTime wall_now() const override {
    return WallTime{std::chrono::days{20'000}} + simulation_.now().time_since_epoch();
  }
  std::string boot_id() const override { return "tracker"; }

 private:
  const Simulation& simulation_;
};

}  // namespace fenceline::sim
