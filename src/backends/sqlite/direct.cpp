#include "backends/sqlite/direct.hpp"

#include <algorithm>
#include <atomic>

namespace fenceline::sqlite {

struct DirectConnection::Listener {
  WatchRequest request;
  std::function<void()> on_change;
  std::atomic<int> calls_under_way{0};
};

class DirectConnection::Handle final : public Watch {
 public:
  Handle(DirectConnection& connection, std::shared_ptr<Listener> listener) : connection_(connection), listener_(std::move(listener)) {}
  ~Handle() override {
    {
      const std::lock_guard lock(connection_.mutex_);
      std::erase(connection_.listeners_, listener_);
    }
    // What the callback uses may be gone after this.
    for (int calls = listener_->calls_under_way; calls != 0; calls = listener_->calls_under_way) listener_->calls_under_way.wait(calls);
  }

 private:
  DirectConnection& connection_;
  std::shared_ptr<Listener> listener_;
};

Result<void> DirectConnection::run_locked(const Body& body, std::set<QueueName>& awakened) {
  try {
    db_->execute("BEGIN");
    Call call(*db_, names_, clock_, clock_.now());
    if (body(call)) {
      for (const std::int64_t queue_id : call.awakened) awakened.insert(names_.queue_name(queue_id));
      for (const std::string& ns : call.ordered) awakened.insert(orders_of(ns));
      awakened.insert(call.freed.begin(), call.freed.end());
      db_->execute("COMMIT");
    } else {
      db_->execute("ROLLBACK");
      names_.forget();
    }
    return {};
  } catch (const SqliteFailure& failure) {
    names_.forget();
    if (db_->in_transaction()) db_->run_script("ROLLBACK");
    return std::unexpected(failure.error(":memory:"));
  }
}

Result<void> DirectConnection::run(const Body& body) {
  std::set<QueueName> awakened;
  Result<void> ran;
  {
    const std::lock_guard lock(mutex_);
    ran = run_locked(body, awakened);
  }
  if (ran) tell(awakened);
  return ran;
}

void DirectConnection::tell(const std::set<QueueName>& awakened) {
  if (awakened.empty()) return;
  const auto concerns = [&](const WatchRequest& request) {
    if (request.orders && awakened.contains(orders_of(request.ns))) return true;
    if (std::ranges::any_of(request.locks, [&](const std::string& name) { return awakened.contains(lock_name(request.ns, name)); })) return true;
    return std::any_of(request.queues.begin(), request.queues.end(), [&](const std::string& queue) {
      return awakened.contains({request.ns, queue, request.stage});
    });
  };
  std::vector<std::shared_ptr<Listener>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& listener : listeners_) {
      if (!concerns(listener->request)) continue;
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

std::unique_ptr<Watch> DirectConnection::watch(const WatchRequest& request, std::function<void()> on_change) {
  auto listener = std::make_shared<Listener>();
  listener->request = request;
  listener->on_change = std::move(on_change);
  {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(listener);
  }
  return std::make_unique<Handle>(*this, std::move(listener));
}

}  // namespace fenceline::sqlite
