// What the store lets on about names, shared by all of a process who wait for one or hold it: one watch a name.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

class LockHints {
 public:
  struct Listener {
    explicit Listener(std::shared_ptr<Event> its_event) : event(std::move(its_event)) {}
    const std::shared_ptr<Event> event;     // notified at each hint; may be shared
    std::atomic<std::int64_t> hints = 0;    // so far
  };
  using ListenerPtr = std::shared_ptr<Listener>;

  LockHints(Store& store, std::string ns) : store_(store), ns_(std::move(ns)) {}

  // True if the name was watched already: then nothing was missed since the listener looked.
  bool listen(const std::string& name, const ListenerPtr& listener);
  void unlisten(const std::string& name, const ListenerPtr& listener);

 private:
  struct Name {
    std::vector<ListenerPtr> listeners;
    std::unique_ptr<Watch> watch;
    std::uint64_t left_at = 0;  // counts up: who was left first goes first
  };
  void tell(const std::string& name);

  Store& store_;
  const std::string ns_;
  std::mutex mutex_;
  std::map<std::string, Name> names_;
  std::uint64_t leavings_ = 0;
};

}  // namespace fenceline
