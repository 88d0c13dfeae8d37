#include "runtime/watched_runtime.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace fenceline {

thread_local WatchedRuntime::Thread* WatchedRuntime::current_ = nullptr;

class WatchedEvent final : public Event {
 public:
  WatchedEvent(Runtime& inner, Duration slice) : inner_(inner), slice_(slice), event_(inner.make_event()) {}

  void notify() override {
    WatchedRuntime::turn();
    event_->notify();
  }

  bool wait_until(Instant when) override {
    for (;;) {
      WatchedRuntime::turn();
      const Instant until = std::min(when, inner_.now() + slice_);
      if (event_->wait_until(until)) return true;
      if (until == when) return false;
    }
  }

 private:
  Runtime& inner_;
  const Duration slice_;
  const std::unique_ptr<Event> event_;
};

namespace {

// Whoever waits for the end of a task is away: the task itself is watched.
class WatchedBody final : public Task::Body {
 public:
  explicit WatchedBody(Task task) : task_(std::move(task)) {}
  ~WatchedBody() override {
    const WatchedRuntime::Away away;
    task_ = Task();
  }
  void request_stop() override { task_.request_stop(); }
  void join() override {
    const WatchedRuntime::Away away;
    task_.join();
  }

 private:
  Task task_;
};

}  // namespace

WatchedRuntime::WatchedRuntime(Runtime& inner, Duration slice) : inner_(inner), slice_(slice) {
  check(current_ == nullptr, "a thread is watched once");
  current_ = &enlist("main");
}

WatchedRuntime::~WatchedRuntime() { current_ = nullptr; }

void WatchedRuntime::turn() {
  if (current_ != nullptr) current_->seen = current_->clock->now();
}

WatchedRuntime::Thread& WatchedRuntime::enlist(std::string name) {
  const Instant now = inner_.now();
  const std::lock_guard lock(mutex_);
  Thread& thread = threads_.emplace_back();
  thread.name = std::move(name);
  thread.seen = now;
  thread.clock = &inner_;
  return thread;
}

void WatchedRuntime::dismiss(const Thread& thread) {
  const std::lock_guard lock(mutex_);
  threads_.remove_if([&](const Thread& one) { return &one == &thread; });
}

Instant WatchedRuntime::now() const {
  turn();
  return inner_.now();
}

std::uint64_t WatchedRuntime::random() {
  turn();
  return inner_.random();
}

bool WatchedRuntime::sleep_until(Instant when, std::stop_token stop) {
  for (;;) {
    turn();
    const Instant until = std::min(when, inner_.now() + slice_);
    if (!inner_.sleep_until(until, stop)) return false;
    if (until == when) return true;
  }
}

Task WatchedRuntime::spawn(std::string name, std::function<void(std::stop_token)> body) {
  Thread& thread = enlist(name);
  return Task(std::make_unique<WatchedBody>(
      inner_.spawn(std::move(name), [this, &thread, body = std::move(body)](std::stop_token stop) {
        current_ = &thread;
        turn();
        body(std::move(stop));
        current_ = nullptr;
        dismiss(thread);
      })));
}

std::unique_ptr<Event> WatchedRuntime::make_event() { return std::make_unique<WatchedEvent>(inner_, slice_); }

std::optional<std::string> WatchedRuntime::hanging(Duration patience) const {
  const Instant now = inner_.now();
  const std::lock_guard lock(mutex_);
  const Thread* longest = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.away == 0 && now - thread.seen.load() > patience &&
        (longest == nullptr || thread.seen.load() < longest->seen.load()))
      longest = &thread;
  }
  if (longest == nullptr) return std::nullopt;
  return longest->name;
}

WatchedRuntime::Away::Away() {
  if (current_ != nullptr) ++current_->away;
}

WatchedRuntime::Away::~Away() {
  if (current_ == nullptr) return;
  turn();
  --current_->away;
}

}  // namespace fenceline
