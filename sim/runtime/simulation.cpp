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

Simulation::Simulation(std::uint64_t seed, StackPool& stacks, bool tracing)
    : stacks_(stacks), random_(seed), trace_(tracing) {}

Simulation::~Simulation() { check(!current_, "a simulation ended inside one of its fibers"); }

struct Simulation::Later {
  bool operator()(const Key& a, const Key& b) const {
    return std::tie(a.when, a.tie, a.number) > std::tie(b.when, b.tie, b.number);
  }
};

void Simulation::push(Instant when, Item item) {
  std::size_t place = items_.size();
  if (free_places_.empty()) {
    items_.push_back(std::move(item));
  } else {
    place = free_places_.back();
    free_places_.pop_back();
    items_[place] = std::move(item);
  }
  queue_.push_back({.when = std::max(when, now_), .tie = random_.next(), .number = numbers_++, .place = place});
  std::push_heap(queue_.begin(), queue_.end(), Later{});
}

void Simulation::at(Instant when, std::function<void()> action) {
  push(when, {.fiber = nullptr, .action = std::move(action)});
}

void Simulation::wake_at(Instant when, const std::shared_ptr<SimFiber>& fiber) {
  if (when == Instant::max()) return;
  push(when, {.fiber = fiber, .turn = fiber->turn, .action = {}});
}

bool Simulation::take_next(Instant end, Item& item, Instant& when) {
  while (!queue_.empty() && queue_.front().when <= end) {
    std::pop_heap(queue_.begin(), queue_.end(), Later{});
    const Key key = queue_.back();
    queue_.pop_back();
    item = std::exchange(items_[key.place], {});
    free_places_.push_back(key.place);
    when = key.when;
    const bool is_void = item.fiber && (item.fiber->fiber.finished() || item.turn != item.fiber->turn);
    if (!is_void) return true;
  }
  return false;
}

bool Simulation::run_until(Instant end, const std::function<bool()>& done) {
  check(!current_, "a fiber cannot let time pass for all");
  Item item;
  Instant when{};
  while (true) {
    if (done && done()) return true;
    if (!take_next(end, item, when)) break;
    events_at_this_moment_ = when == now_ ? events_at_this_moment_ + 1 : 0;
    check(events_at_this_moment_ < kEventsAtOneMoment, "a loop in the simulated code lets no time pass");
    now_ = when;
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
