#include "backends/sqlite/lock_watches.hpp"

namespace fenceline::sqlite {

void LockWatches::tell() {
  listeners_.tell([this](Listener& listener) {
    std::vector<std::uint32_t> counts = wakes_.counts(listener.names);
    if (counts == listener.seen) return false;
    listener.seen = std::move(counts);
    return true;
  });
}

std::unique_ptr<Watch> LockWatches::watch(std::vector<QueueName> names, std::function<void()> on_change) {
  std::vector<std::uint32_t> seen = wakes_.counts(names);
  std::unique_ptr<Watch> watch = listeners_.add(std::move(names), std::move(seen), std::move(on_change));
  if (!started_.exchange(true)) {
    task_ = runtime_.spawn("sqlite_lock_watch",
                           [this](std::stop_token stop) { wakes_.follow_all(stop, [this] { tell(); }); });
  }
  return watch;
}

}  // namespace fenceline::sqlite
