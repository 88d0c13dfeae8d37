// Those who want to be told of changes, by callbacks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/sqlite/names.hpp"
#include "store/store.hpp"

namespace fenceline::sqlite {

struct Listener {
  std::vector<QueueName> names;  // what it wants to be told of
  std::function<void()> on_change;
  std::vector<std::uint32_t> seen = {};  // counters of the wake file, where those tell
  std::atomic<int> calls_under_way{0};
};

class Listeners {
 public:
  // Until the handle goes away, which waits for a call under way: what the callback uses may be gone after that. This
  // must outlive it.
  std::unique_ptr<Watch> add(std::vector<QueueName> names, std::vector<std::uint32_t> seen,
                             std::function<void()> on_change);
  // Calls those for whom `concerns` is true; it may change what they have seen, and is asked under a mutex that is
  // never held across a callback.
  void tell(const std::function<bool(Listener&)>& concerns);

 private:
  class Handle;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Listener>> all_;
};

}  // namespace fenceline::sqlite
