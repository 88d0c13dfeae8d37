// Wake-ups: one connection that listens, and those who want to be told. What it brings only shortens a sleep, so it may
// be missing, late or too often.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/postgres/dsn.hpp"
#include "base/log.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::postgres {

// Whether a notice is about what was asked for. "SCHEMA NAMESPACE QUEUE STAGE" (the stage may be empty), "SCHEMA
// NAMESPACE LOCK", or "SCHEMA NAMESPACE": orders.
bool concerns(const std::string& payload, const std::string& schema, const WatchRequest& request);

class Listener {
 public:
  Listener(Runtime& runtime, Dsn dsn);
  ~Listener();

  // The first one starts the thread.
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change);

 private:
  struct Follower;
  class Handle;

  // Through a pooler, or if it shall not, it hears nothing.
  bool hears() const { return dsn_.listens && !dsn_.pooled; }
  void follow(const std::stop_token& stop);
  void knock(const std::stop_token& stop);
  void tell(const std::function<bool(const WatchRequest&)>& concerned);

  Runtime& runtime_;
  const Dsn dsn_;
  std::mutex mutex_;  // guards the next two
  std::vector<std::shared_ptr<Follower>> followers_;
  bool started_ = false;
  Task task_;  // last: it uses all of the above
};

}  // namespace fenceline::postgres
