#include "sim/runtime/sim_runtime.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace fenceline::sim {
namespace {

// Thrown out of a call of a process that was killed. Nobody but start_fiber() can name it.
struct Killed {};

class SimEvent final : public Event {
 public:
  explicit SimEvent(SimRuntime& process) : process_(process) {}

  void notify() override {
    if (process_.dead()) return;
    notified_ = true;
    if (waiters_.empty()) return;
    process_.wake(waiters_.front());
    waiters_.erase(waiters_.begin());
  }

  bool wait_until(Instant when) override {
    process_.step();
    while (!notified_) {
      if (process_.now() >= when) return false;
      const std::shared_ptr<SimFiber> self = process_.simulation().current_shared();
      waiters_.push_back(self);
      // Leaves the line also when the process dies in the wait.
      struct Leave {
        std::vector<std::shared_ptr<SimFiber>>& waiters;
        const std::shared_ptr<SimFiber>& self;
        ~Leave() { std::erase(waiters, self); }
      } leave{waiters_, self};
      process_.block_until(when);
    }
    notified_ = false;
    return true;
  }

 private:
  SimRuntime& process_;
  bool notified_ = false;
  std::vector<std::shared_ptr<SimFiber>> waiters_;
};

class SimTask final : public Task::Body {
 public:
  SimTask(std::shared_ptr<SimFiber> fiber, std::stop_source stop) : fiber_(std::move(fiber)), stop_(std::move(stop)) {}

  ~SimTask() override {
    if (fiber_->process.dead()) return;
    stop_.request_stop();
    fiber_->process.join(fiber_, true);
  }
  void request_stop() override {
    if (!fiber_->process.dead()) stop_.request_stop();
  }
  void join() override {
    fiber_->process.step();
    fiber_->process.join(fiber_, false);
  }

 private:
  std::shared_ptr<SimFiber> fiber_;
  std::stop_source stop_;
};

}  // namespace

SimRuntime::SimRuntime(Simulation& simulation, Machine& machine, std::string name)
    : simulation_(simulation), machine_(machine), name_(std::move(name)) {}

SimRuntime::~SimRuntime() {
  on_end_ = {};
  kill();
}

void SimRuntime::start(std::function<void(std::stop_token)> main, std::function<void(ProcessEnd)> on_end) {
  check(!started_, "a process starts once; a restart is another one");
  started_ = true;
  on_end_ = std::move(on_end);
  main_ = start_fiber("main", [main = std::move(main), stop = main_stop_.get_token()] { main(stop); });
}

void SimRuntime::terminate() {
  if (!dead_) main_stop_.request_stop();
}

void SimRuntime::pause() {
  if (!alive() || paused_) return;
  paused_ = true;
  simulation_.trace().write(simulation_.now(), name_, "paused");
  if (!in_own_fiber()) return;
  wake(simulation_.current_shared());  // held back until the end of the pause
  suspend();
}

void SimRuntime::resume() {
  if (!paused_) return;
  paused_ = false;
  resumed_at_ = simulation_.now();
  if (dead_) return;
  simulation_.trace().write(simulation_.now(), name_, "resumed");
  for (const std::shared_ptr<SimFiber>& fiber : std::exchange(held_back_, {})) wake(fiber);
}

void SimRuntime::kill() {
  if (dead_) return;
  dead_ = true;
  if (started_ && !returned_) simulation_.trace().write(simulation_.now(), name_, "killed");
  if (simulation_.current() == nullptr) return unwind();
  simulation_.at(simulation_.now(), [this] { unwind(); });
  if (in_own_fiber()) suspend();
}

void SimRuntime::unwind() {
  if (std::exchange(unwound_, true)) return;
  while (!fibers_.empty()) {
    const std::shared_ptr<SimFiber> newest = fibers_.back();
    if (newest->fiber.started()) {
      simulation_.resume(newest);
      check(newest->fiber.finished(), "a fiber of a killed process waits on");
    } else {
      fibers_.pop_back();
    }
  }
  held_back_.clear();
  if (on_end_ && !returned_) std::exchange(on_end_, {})(ProcessEnd::killed);
}

void SimRuntime::step() {
  leave_if_dead();
  if (on_step_ && in_own_fiber()) on_step_(*this);
}

void SimRuntime::delay(Duration by) {
  check(in_own_fiber(), "only a fiber can be delayed");
  const Instant until = simulation_.now() + by;
  while (simulation_.now() < until) {
    simulation_.wake_at(until, simulation_.current_shared());
    suspend();
  }
}

bool SimRuntime::sleep_until(Instant when, std::stop_token stop) {
  step();
  check(in_own_fiber(), "only a fiber of the process can sleep");
  const std::stop_callback wake_up(stop, [this, self = simulation_.current_shared()] { wake(self); });
  while (true) {
    if (stop.stop_requested()) return false;
    if (now() >= when) return true;
    block_until(when);
  }
}

Task SimRuntime::spawn(std::string name, std::function<void(std::stop_token)> body) {
  step();
  std::stop_source stop;
  auto fiber = start_fiber(std::move(name), [body = std::move(body), token = stop.get_token()] { body(token); });
  return Task(std::make_unique<SimTask>(std::move(fiber), std::move(stop)));
}

std::unique_ptr<Event> SimRuntime::make_event() { return std::make_unique<SimEvent>(*this); }

std::shared_ptr<SimFiber> SimRuntime::start_fiber(std::string name, std::function<void()> body) {
  auto guarded = [body = std::move(body)]() mutable noexcept {
    try {
      body();
    } catch (const Killed&) {
    }
    body = nullptr;
  };
  auto fiber = std::make_shared<SimFiber>(simulation_.stacks(), *this, std::move(name), std::move(guarded));
  fibers_.push_back(fiber);
  wake(fiber);
  return fiber;
}

bool SimRuntime::hold_back(const std::shared_ptr<SimFiber>& fiber) {
  if (dead_) return true;
  if (paused_) held_back_.push_back(fiber);
  return paused_;
}

void SimRuntime::ended(const std::shared_ptr<SimFiber>& fiber) {
  std::erase(fibers_, fiber);
  if (dead_) return;
  for (const std::shared_ptr<SimFiber>& joiner : std::exchange(fiber->joiners, {})) wake(joiner);
  if (fiber != main_.lock()) return;
  returned_ = true;
  check(fibers_.empty(), "main returned and left tasks behind");
  simulation_.trace().write(simulation_.now(), name_, "returned");
  if (on_end_) std::exchange(on_end_, {})(ProcessEnd::returned);
}

void SimRuntime::block_until(Instant when) {
  check(in_own_fiber(), "only a fiber of the process can wait");
  simulation_.wake_at(machine_.true_time(when), simulation_.current_shared());
  suspend();
}

void SimRuntime::suspend() {
  simulation_.current()->fiber.suspend();
  leave_if_dead();
}

void SimRuntime::wake(const std::shared_ptr<SimFiber>& fiber) {
  if (!dead_) simulation_.wake_at(simulation_.now(), fiber);
}

void SimRuntime::join(const std::shared_ptr<SimFiber>& fiber, bool in_destructor) {
  if (!in_own_fiber()) {
    check(in_destructor, "only a fiber of the process can join");
    return;
  }
  while (!fiber->fiber.finished() && !dead_) {
    fiber->joiners.push_back(simulation_.current_shared());
    simulation_.current()->fiber.suspend();
  }
  // A destructor must not throw: its fiber leaves at the next call it makes.
  if (!in_destructor) leave_if_dead();
}

bool SimRuntime::in_own_fiber() const {
  const SimFiber* current = simulation_.current();
  return current != nullptr && &current->process == this;
}

void SimRuntime::leave_if_dead() const {
  if (dead_) throw Killed{};
}

}  // namespace fenceline::sim
