#include "sim/runtime/simulation.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::sim {
namespace {

// So many events without a microsecond between them mean a loop that never lets time pass.
constexpr std::uint64_t kEventsAtOneMoment = 1'000'000;

}  // namespace

Simulation::Simulation(std::uint64_t seed, StackPool& stacks, bool tracing) : stacks_(stacks), random_(seed), trace_(tracing) {}

Simulation::~Simulation() { check(!current_, "a simulation ended inside one of its fibers"); }

bool Simulation::later(const Item& a, const Item& b) {
  return std::tie(a.when, a.tie, a.number) > std::tie(b.when, b.tie, b.number);
}

void Simulation::push(Item item) {
  queue_.push_back(std::move(item));
  std::push_heap(queue_.begin(), queue_.end(), &Simulation::later);
}

void Simulation::at(Instant when, std::function<void()> action) {
  push({.when = std::max(when, now_), .tie = random_.next(), .number = numbers_++, .fiber = nullptr, .turn = 0, .action = std::move(action)});
}

void Simulation::wake_at(Instant when, const std::shared_ptr<SimFiber>& fiber) {
  if (when == Instant::max()) return;
  push({.when = std::max(when, now_), .tie = random_.next(), .number = numbers_++, .fiber = fiber, .turn = fiber->turn, .action = {}});
}

bool Simulation::take_next(Instant end, Item& item) {
  while (!queue_.empty() && queue_.front().when <= end) {
    std::pop_heap(queue_.begin(), queue_.end(), &Simulation::later);
    item = std::move(queue_.back());
    queue_.pop_back();
    const bool is_void = item.fiber && (item.fiber->fiber.finished() || item.turn != item.fiber->turn);
    if (!is_void) return true;
  }
  return false;
}

bool Simulation::run_until(Instant end, const std::function<bool()>& done) {
  check(!current_, "a fiber cannot let time pass for all");
  Item item;
  while (true) {
    if (done && done()) return true;
    if (!take_next(end, item)) break;
    events_at_this_moment_ = item.when == now_ ? events_at_this_moment_ + 1 : 0;
    check(events_at_this_moment_ < kEventsAtOneMoment, "a loop in the simulated code lets no time pass");
    now_ = item.when;
    if (item.fiber) {
      const std::shared_ptr<SimFiber> fiber = std::move(item.fiber);
      if (!fiber->process.hold_back(fiber)) resume(fiber);
    } else {
      const std::function<void()> action = std::move(item.action);
      action();
    }
    item = {};
  }
  if (end != Instant::max()) now_ = std::max(now_, end);
  return false;
}

void Simulation::resume(const std::shared_ptr<SimFiber>& fiber) {
  check(!current_, "a fiber resumed another one");
  fiber->turn += 1;
  current_ = fiber;
  fiber->fiber.resume();
  current_.reset();
  if (fiber->fiber.finished()) fiber->process.ended(fiber);
}

}  // namespace fenceline::sim
