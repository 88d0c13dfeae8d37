// A simulated world: virtual true time, a queue of what comes next, and one generator that every choice is
// taken from. All of it runs on one thread, so a seed decides everything.
//
// What is due at the same moment runs in an order that chance picks: the order of threads is no promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "sim/runtime/fiber.hpp"
#include "sim/runtime/random.hpp"
#include "sim/runtime/stack_pool.hpp"
#include "sim/runtime/trace.hpp"

namespace fenceline::sim {

class SimRuntime;

// A fiber of a simulated process, and the waits it takes part in.
struct SimFiber {
  SimFiber(StackPool& stacks, SimRuntime& its_process, std::string its_name, std::function<void()> body)
      : fiber(stacks, std::move(body)), process(its_process), name(std::move(its_name)) {}

  Fiber fiber;
  SimRuntime& process;
  std::string name;
  std::uint64_t turn = 0;  // counts its resumptions: a wake-up for an older turn is void
  std::vector<std::shared_ptr<SimFiber>> joiners;
};

class Simulation {
 public:
  // `stacks` must outlive it.
  Simulation(std::uint64_t seed, StackPool& stacks, bool tracing = false);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  Instant now() const { return now_; }  // true time
  Random& random() { return random_; }
  Trace& trace() { return trace_; }

  // Runs `action` outside every fiber: it may start, pause and kill processes, and must not block.
  void at(Instant when, std::function<void()> action);
  void after(Duration delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }

  // Lets time pass until `end`, until nothing is left to happen, or until `done` (asked between events). Returns
  // whether it was `done`. Time stands at `end` afterwards if neither stopped it earlier.
  bool run_until(Instant end, const std::function<bool()>& done = {});

  // The rest is for SimRuntime.
  StackPool& stacks() { return stacks_; }
  SimFiber* current() const { return current_.get(); }
  std::shared_ptr<SimFiber> current_shared() const { return current_; }
  void wake_at(Instant when, const std::shared_ptr<SimFiber>& fiber);
  void resume(const std::shared_ptr<SimFiber>& fiber);

 private:
  // What is due is ordered by small keys; what it does stays in its place meanwhile.
  struct Key {
    Instant when;
    std::uint64_t tie;
    std::uint64_t number;
    std::size_t place;  // in `items_`
  };
  struct Item {
    std::shared_ptr<SimFiber> fiber;  // or an action
    std::uint64_t turn = 0;
    std::function<void()> action;
  };
  struct Later;
  void push(Instant when, Item item);
  bool take_next(Instant end, Item& item, Instant& when);

  StackPool& stacks_;
  Random random_;
  Trace trace_;
  Instant now_{};
  std::vector<Key> queue_;  // a heap
  std::vector<Item> items_;
  std::vector<std::size_t> free_places_;
  std::uint64_t numbers_ = 0;
  std::uint64_t events_at_this_moment_ = 0;
  std::shared_ptr<SimFiber> current_;
};

}  // namespace fenceline::sim
