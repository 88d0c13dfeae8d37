#include "services/lock_turns.hpp"

#include <algorithm>

namespace fenceline {
namespace {

constexpr Duration kLookForDropped = std::chrono::seconds{1};

}  // namespace

LockTurns::TurnPtr LockTurns::take(std::vector<std::string> names, Instant deadline, bool impatient,
                                   std::stop_token stop) {
  const TurnPtr turn = std::make_shared<Turn>();
  turn->names_ = std::move(names);
  turn->impatient_ = impatient;
  Wakes wakes;
  Place place = Place::waits;
  {
    const std::lock_guard lock(mutex_);
    // All at once: whoever came first is before the others in every queue, so that two never wait for each other.
    for (const std::string& name : turn->names_) queues_[name].push_back(turn);
    place = place_of(*turn, wakes);
  }
  wake(wakes);
  if (place == Place::first) return turn;

  std::unique_ptr<Event> made = runtime_.make_event();
  Event& event = *made;
  {
    const std::lock_guard lock(mutex_);
    turn->event_ = std::move(made);
  }
  const std::stop_callback on_stop(stop, [&event] { event.notify(); });
  while (true) {
    const Instant now = runtime_.now();
    wakes.clear();
    {
      const std::lock_guard lock(mutex_);
      place = place_of(*turn, wakes);
      if (place != Place::first && (place == Place::hopeless || stop.stop_requested() || now >= deadline)) {
        remove(turn, wakes);
        place = Place::hopeless;
      }
    }
    wake(wakes);
    if (place == Place::first) return turn;
    if (place == Place::hopeless) return nullptr;
    event.wait_until(std::min(deadline, now + kLookForDropped));
  }
}

void LockTurns::settle(const TurnPtr& turn, bool waits) {
  Wakes wakes;
  {
    const std::lock_guard lock(mutex_);
    if (turn->settled_ && turn->waits_ == waits) return;
    turn->settled_ = true;
    turn->waits_ = waits;
    for (const std::string& name : turn->names_) {
      const auto queue = queues_.find(name);
      if (queue == queues_.end()) continue;
      const TurnPtr first = first_of(queue->second);
      for (const TurnPtr& other : queue->second) {
        if (other != turn && other->event_ && (other->impatient_ || other == first)) wakes.push_back(other);
      }
    }
  }
  wake(wakes);
}

void LockTurns::leave(const TurnPtr& turn) {
  if (!turn) return;
  Wakes wakes;
  {
    const std::lock_guard lock(mutex_);
    remove(turn, wakes);
  }
  wake(wakes);
}

std::size_t LockTurns::waiting() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [name, queue] : queues_) count += queue.size() - 1;
  return count;
}

// Null: all of them wait at the store, for several names each.
LockTurns::TurnPtr LockTurns::first_of(const Queue& queue) {
  for (const TurnPtr& turn : queue) {
    if (!(turn->waits_ && turn->names_.size() > 1)) return turn;
  }
  return nullptr;
}

LockTurns::Place LockTurns::place_of(Turn& turn, Wakes& wakes) {
  Place place = Place::first;
  for (const std::string& name : turn.names_) {
    drop_gone(name, wakes);
    const TurnPtr first = first_of(queues_.at(name));
    if (first.get() == &turn) continue;
    place = Place::waits;
    if (turn.impatient_ && first->settled_) return Place::hopeless;
  }
  return place;
}

void LockTurns::remove(const TurnPtr& turn, Wakes& wakes) {
  for (const std::string& name : turn->names_) {
    const auto queue = queues_.find(name);
    if (queue == queues_.end() || std::erase(queue->second, turn) == 0) continue;
    if (queue->second.empty()) {
      queues_.erase(queue);
      continue;
    }
    const TurnPtr first = first_of(queue->second);
    if (first && first->event_ && !first->settled_) wakes.push_back(first);
  }
}

void LockTurns::drop_gone(const std::string& name, Wakes& wakes) {
  while (true) {
    const TurnPtr first = first_of(queues_.at(name));
    if (!first || !first->dropped_) return;
    remove(first, wakes);
  }
}

void LockTurns::wake(const Wakes& wakes) {
  for (const TurnPtr& turn : wakes) turn->event_->notify();
}

}  // namespace fenceline
