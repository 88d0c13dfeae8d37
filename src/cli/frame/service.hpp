// A command that works until it is stopped, as a service manager sees it: ready, what it does, stopping; and alive for
// as long as its threads turn. Without NOTIFY_SOCKET all of this does nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/log.hpp"
#include "handler/handler.hpp"
#include "runtime/service_manager.hpp"
#include "runtime/watched_runtime.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::cli {

class Service {
 public:
  // `longest` is what one call may take that is well: a thread is given up on only after several of those, so that a
  // store that is away is waited for and not died of. What the environment says of a service manager is taken out of
  // it: what we run must not speak for us. So it is made before anything that may read the environment on a thread of
  // its own. One in a process.
  Service(Runtime& runtime, Log log, std::stop_token stop, Duration longest);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // For what must turn. Not for a store: its threads listen, and turn when something comes.
  Runtime& runtime() { return watched_ ? static_cast<Runtime&>(*watched_) : runtime_; }

  // It does what it is for. Told once.
  void ready();

  // Beside the work, until the task goes: what `describe` says, when it says something new, and a sign of life at half
  // the time that the manager allows, unless a thread hangs; when none does any more, soon.
  [[nodiscard]] Task attend(std::function<std::string()> describe);

 private:
  void sign_of_life();
  void stopping();

  Runtime& runtime_;
  Log log_;
  std::optional<ServiceManager> manager_;
  std::optional<Duration> watchdog_;
  Duration patience_;
  Duration slice_{0};
  std::unique_ptr<WatchedRuntime> watched_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> stops_ = false;
  bool hangs_ = false;  // said so
  std::optional<std::stop_callback<std::function<void()>>> at_stop_;
};

// A handler takes as long as it takes: its thread does not hang meanwhile.
class ServiceHandler final : public Handler {
 public:
  explicit ServiceHandler(Handler& inner) : inner_(inner) {}
  RunResult run(const Run& run) override {
    const WatchedRuntime::Away away;
    return inner_.run(run);
  }

 private:
  Handler& inner_;
};

// Makes a worker's service ready when the store has its row in the registry and has answered a claim; counts for its
// status.
class ServiceStore final : public ForwardingStore {
 public:
  ServiceStore(Service& service, Store& inner) : ForwardingStore(inner), service_(service) {}

  Result<ClaimReply> claim(const ClaimRequest& request) override;
  Result<SettleReply> settle(const SettleRequest& request) override;
  Result<void> report_worker(const WorkerReport& report) override;

  // "12 claimed, 11 settled", or that the store is away.
  std::string describe() const;

 private:
  void answered(const Error* error);

  Service& service_;
  std::atomic<bool> registered_ = false;
  std::atomic<std::int64_t> claimed_ = 0;
  std::atomic<std::int64_t> settled_ = 0;
  mutable std::mutex mutex_;
  std::string away_;  // why; guarded by the mutex
};

}  // namespace fenceline::cli
