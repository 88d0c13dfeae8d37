// What the outside world decides for us: time, waiting, chance and concurrency. ThreadRuntime asks the
// operating system; SimRuntime asks a seed. Code between this seam and Store is plain and blocking.
//
// So that a seed replays exactly and fibers stay sound: never hold a mutex across a call of a Runtime, an
// Event, a Task or a Store; call none of them from a destructor of ours or from a catch; iterate ordered
// containers; take ids and jitter from random().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "runtime/clock.hpp"

namespace fenceline {

// The only condition there is: a sticky flag that one wait consumes. With several waiters, the one that
// woke and leaves work behind notifies again.
class Event {
 public:
  virtual ~Event() = default;
  // Wakes one waiter; with none waiting, the next wait returns at once. May be called from any thread,
  // also from a stop_callback.
  virtual void notify() = 0;
  // True if notified, false if `when` came first.
  virtual bool wait_until(Instant when) = 0;
};

// Something that runs beside its maker. It is asked to stop, and joined, when the handle goes away.
class Task {
 public:
  class Body {
   public:
    virtual ~Body() = default;  // asks to stop and joins
    virtual void request_stop() = 0;
    virtual void join() = 0;
  };

  Task() = default;
  explicit Task(std::unique_ptr<Body> body) : body_(std::move(body)) {}

  void request_stop() {
    if (body_) body_->request_stop();
  }
  // Waits for the end without asking for it.
  void join() {
    if (body_) body_->join();
  }

 private:
  std::unique_ptr<Body> body_;
};

class Runtime : public Clock {
 public:
  virtual std::uint64_t random() = 0;

  // Returns false if `stop` was requested before `when`.
  virtual bool sleep_until(Instant when, std::stop_token stop) = 0;

  // `name` shows in debuggers and traces: at most 15 characters.
  virtual Task spawn(std::string name, std::function<void(std::stop_token)> body) = 0;

  virtual std::unique_ptr<Event> make_event() = 0;

  bool sleep_for(Duration duration, std::stop_token stop) { return sleep_until(now() + duration, std::move(stop)); }
};

}  // namespace fenceline
