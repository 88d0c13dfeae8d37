// The Runtime of one start of one simulated process. The process can be paused, killed between any two of its
// steps, and started again as a new SimRuntime, also while the old one is only paused.
//
// Death is an exception of a private type that comes out of the call a fiber is in, the newest fiber first: what
// a fiber points to on its maker's stack is still there. The dead say nothing any more: their notifications and
// stop requests have no effect, and handles of their tasks do not join.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "sim/runtime/machine.hpp"
#include "sim/runtime/simulation.hpp"

namespace fenceline::sim {

enum class ProcessEnd { returned, killed };

class SimRuntime final : public Runtime {
 public:
  // Both must outlive it; it must outlive what its fibers leave in the simulation's queue.
  SimRuntime(Simulation& simulation, Machine& machine, std::string name);
  ~SimRuntime() override;  // kills what still runs; not from inside a fiber

  const std::string& name() const { return name_; }
  Simulation& simulation() const { return simulation_; }
  const Machine& machine() const { return machine_; }

  // Starts the process: `main` runs in its first fiber. `on_end` is called outside every fiber, once.
  void start(std::function<void(std::stop_token)> main, std::function<void(ProcessEnd)> on_end = {});
  // What SIGTERM does: asks main to stop.
  void terminate();
  // No fiber of it runs until resume(). From inside one of its own fibers it takes effect at once.
  void pause();
  void resume();
  // Unwinds all fibers. From inside one of its own fibers it does not return.
  void kill();

  bool started() const { return started_; }
  bool alive() const { return started_ && !dead_ && !returned_; }
  bool dead() const { return dead_; }
  bool paused() const { return paused_; }
  Instant resumed_at() const { return resumed_at_; }  // true time of the end of the last pause

  // Called at each step: before a call sleeps, waits, spawns, joins or goes to a store, and after a store
  // answered. May pause, kill or delay this process.
  void on_step(std::function<void(SimRuntime&)> hook) { on_step_ = std::move(hook); }
  void step();
  // Lets true time pass for the fiber that calls.
  void delay(Duration by);

  Instant now() const override { return machine_.local(simulation_.now()); }
  WallTime wall_now() const override { return machine_.wall(simulation_.now()); }
  std::string boot_id() const override { return machine_.name(); }
  std::uint64_t random() override { return simulation_.random().next(); }
  bool sleep_until(Instant when, std::stop_token stop) override;
  Task spawn(std::string name, std::function<void(std::stop_token)> body) override;
  std::unique_ptr<Event> make_event() override;

  // The rest is for Simulation, events and tasks.

  // Whether the fiber must not run now: it is then woken after the pause, or never.
  bool hold_back(const std::shared_ptr<SimFiber>& fiber);
  void ended(const std::shared_ptr<SimFiber>& fiber);
  // Suspends the current fiber until it is woken or `when` (local) comes. Throws if the process died meanwhile.
  void block_until(Instant when);
  void wake(const std::shared_ptr<SimFiber>& fiber);
  void join(const std::shared_ptr<SimFiber>& fiber, bool in_destructor);
  bool in_own_fiber() const;
  void leave_if_dead() const;

 private:
  std::shared_ptr<SimFiber> start_fiber(std::string name, std::function<void()> body);
  void unwind();
  void suspend();

  Simulation& simulation_;
  Machine& machine_;
  std::string name_;
  std::function<void(SimRuntime&)> on_step_;
  std::function<void(ProcessEnd)> on_end_;
  std::stop_source main_stop_;
  std::weak_ptr<SimFiber> main_;
  std::vector<std::shared_ptr<SimFiber>> fibers_;  // in the order in which they were made
  std::vector<std::shared_ptr<SimFiber>> held_back_;
  Instant resumed_at_{};
  bool started_ = false;
  bool returned_ = false;
  bool paused_ = false;
  bool dead_ = false;
  bool unwound_ = false;
};

}  // namespace fenceline::sim
