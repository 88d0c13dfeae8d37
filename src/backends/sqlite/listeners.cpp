#include "backends/sqlite/listeners.hpp"

namespace fenceline::sqlite {

class Listeners::Handle final : public Watch {
 public:
  Handle(Listeners& listeners, std::shared_ptr<Listener> listener)
      : listeners_(listeners), listener_(std::move(listener)) {}
  ~Handle() override {
    {
      const std::lock_guard lock(listeners_.mutex_);
      std::erase(listeners_.all_, listener_);
    }
    for (int calls = listener_->calls_under_way; calls != 0; calls = listener_->calls_under_way)
      listener_->calls_under_way.wait(calls);
  }

 private:
  Listeners& listeners_;
  std::shared_ptr<Listener> listener_;
};

std::unique_ptr<Watch> Listeners::add(std::vector<QueueName> names, std::vector<std::uint32_t> seen,
                                      std::function<void()> on_change) {
  auto listener = std::make_shared<Listener>();
  listener->names = std::move(names);
  listener->seen = std::move(seen);
  listener->on_change = std::move(on_change);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(listener);
  }
  return std::make_unique<Handle>(*this, std::move(listener));
}

void Listeners::tell(const std::function<bool(Listener&)>& concerns) {
  std::vector<std::shared_ptr<Listener>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& listener : all_) {
      if (!concerns(*listener)) continue;
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

}  // namespace fenceline::sqlite
