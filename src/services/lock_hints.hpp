// What the store lets on about names, shared by all of a process who wait for one or hold it: one watch a name.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

class LockHints {
 public:
  struct Listener {
    explicit Listener(std::shared_ptr<Event> its_event) : event(std::move(its_event)) {}
    const std::shared_ptr<Event> event;   // notified at each hint from wake_at on; may be shared
    std::atomic<std::int64_t> hints = 0;  // so far
    std::atomic<std::int64_t> wake_at =
        0;  // the event is notified from so many hints on: who is far behind in a queue has no use for each
  };
  using ListenerPtr = std::shared_ptr<Listener>;

  LockHints(Store& store, std::string ns) : store_(store), ns_(std::move(ns)) {}

  // How far the telling about a name has come: the same mark before and after means that nothing was told in between.
  // None: it is not watched.
  struct Mark {
    std::uint64_t watch = 0;
    std::int64_t told = 0;

    bool operator==(const Mark&) const = default;
  };
  std::optional<Mark> mark(const std::string& name);

  // From now on the listener hears what is told. Answers the mark of that moment; none if the watch had to be made.
  std::optional<Mark> listen(const std::string& name, const ListenerPtr& listener);
  void unlisten(const std::string& name, const ListenerPtr& listener);

 private:
  struct Name {
    std::vector<ListenerPtr> listeners;
    std::unique_ptr<Watch> watch;
    Mark mark;
    std::uint64_t left_at = 0;  // counts up: who was left first goes first
  };
  void tell(const std::string& name);

  Store& store_;
  const std::string ns_;
  std::mutex mutex_;
  std::map<std::string, Name> names_;
  std::uint64_t leavings_ = 0;
  std::uint64_t watches_ = 0;  // made so far
};

}  // namespace fenceline
