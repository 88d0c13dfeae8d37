// Those who wait for locks: some hundred in a process, so one thread follows the wake file for all of them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "backends/sqlite/listeners.hpp"
#include "backends/sqlite/wake_file.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::sqlite {

class LockWatches {
 public:
  // Both must outlive this, and this every watch. The thread starts with the first.
  LockWatches(Runtime& runtime, WakeFile& wakes) : runtime_(runtime), wakes_(wakes) {}
  LockWatches(const LockWatches&) = delete;
  LockWatches& operator=(const LockWatches&) = delete;

  // Calls back whenever one of these was freed, until the handle goes away.
  std::unique_ptr<Watch> watch(std::vector<QueueName> names, std::function<void()> on_change);

 private:
  void tell();

  Runtime& runtime_;
  WakeFile& wakes_;
  Listeners listeners_;
  std::atomic<bool> started_{false};
  Task task_;
};

}  // namespace fenceline::sqlite
