#include "backends/sqlite/lock_watches.hpp"

namespace fenceline::sqlite {

struct LockWatches::Listener {
  std::vector<QueueName> names;
  std::vector<std::uint32_t> seen;  // guarded by the mutex
  std::function<void()> on_change;
  std::atomic<int> calls_under_way{0};
};

class LockWatches::Handle final : public Watch {
 public:
  Handle(LockWatches& watches, std::shared_ptr<Listener> listener) : watches_(watches), listener_(std::move(listener)) {}
  ~Handle() override {
    {
      const std::lock_guard lock(watches_.mutex_);
      std::erase(watches_.listeners_, listener_);
    }
    // What the callback uses may be gone after this.
    for (int calls = listener_->calls_under_way; calls != 0; calls = listener_->calls_under_way) listener_->calls_under_way.wait(calls);
  }

 private:
  LockWatches& watches_;
  std::shared_ptr<Listener> listener_;
};

void LockWatches::tell() {
  std::vector<std::shared_ptr<Listener>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& listener : listeners_) {
      std::vector<std::uint32_t> counts = wakes_.counts(listener->names);
      if (counts == listener->seen) continue;
      listener->seen = std::move(counts);
      listener->calls_under_way += 1;
      told.push_back(listener);
    }
  }
  for (const auto& listener : told) {
    listener->on_change();
    listener->calls_under_way -= 1;
    listener->calls_under_way.notify_all();
  }
}

std::unique_ptr<Watch> LockWatches::watch(std::vector<QueueName> names, std::function<void()> on_change) {
  auto listener = std::make_shared<Listener>();
  listener->seen = wakes_.counts(names);
  listener->names = std::move(names);
  listener->on_change = std::move(on_change);
  {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(listener);
  }
  if (!started_.exchange(true)) {
    task_ = runtime_.spawn("sqlite_lock_watch", [this](std::stop_token stop) { wakes_.follow_all(stop, [this] { tell(); }); });
  }
  return std::make_unique<Handle>(*this, std::move(listener));
}

}  // namespace fenceline::sqlite
