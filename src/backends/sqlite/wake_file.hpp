// Wake-ups across processes: counters in a shared mapping of `<file>-wake`, one for all queues and some for queues by
// hash, with a futex each. Only a hint that shortens a sleep: if the file cannot be made, this process tells itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/sqlite/names.hpp"

namespace fenceline::sqlite {

class WakeFile {
 public:
  // `path` may be empty: this process only.
  explicit WakeFile(const std::string& path);
  ~WakeFile();
  WakeFile(const WakeFile&) = delete;
  WakeFile& operator=(const WakeFile&) = delete;

  void bump(const std::set<QueueName>& queues);
  // Calls back whenever one of the queues was bumped since `seen`, their counts, on this thread, until `stop`.
  void follow(const std::vector<QueueName>& queues, std::vector<std::uint32_t> seen, std::stop_token stop,
              const std::function<void()>& on_change);
  // The same after any bump, and once at the start: who is concerned is found by the counts.
  void follow_all(std::stop_token stop, const std::function<void()>& on_change);
  // Another one after each bump of this name, and perhaps of others.
  std::uint32_t count(const QueueName& name) const;
  std::vector<std::uint32_t> counts(const std::vector<QueueName>& names) const;

 private:
  std::uint32_t* counter(std::size_t slot) const { return counters_ + slot; }
  void bump_slot(std::size_t slot) const;

  std::uint32_t* counters_ = nullptr;
};

}  // namespace fenceline::sqlite
