#include "cli/frame/service.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kStatusEvery = std::chrono::seconds{10};
constexpr int kCallsInARow = 3;

std::optional<std::string> taken(const char* name) {
  std::optional<std::string> value = from_environment(name);
  ::unsetenv(name);
  return value;
}

}  // namespace

Service::Service(Runtime& runtime, Log log, std::stop_token stop, Duration longest)
    : runtime_(runtime), log_(log), patience_(kCallsInARow * longest) {
  const std::optional<std::string> place = taken("NOTIFY_SOCKET");
  const std::optional<std::string> usec = taken("WATCHDOG_USEC");
  const std::optional<std::string> pid = taken("WATCHDOG_PID");
  if (!place) return;
  Result<ServiceManager> manager = ServiceManager::open(*place);
  if (!manager) {
    log_.warn("service_manager_unknown", {{"message", manager.error().message}});
    return;
  }
  manager_ = std::move(*manager);
  watchdog_ = watchdog_of(usec, pid, ::getpid());
  if (watchdog_) {
    patience_ = std::max(patience_, *watchdog_ / 2);
    slice_ = std::min(*watchdog_ / 4, Duration{std::chrono::seconds{1}});
    watched_ = std::make_unique<WatchedRuntime>(runtime_, slice_);
  }
  at_stop_.emplace(std::move(stop), [this] { stopping(); });
}

Service::~Service() {
  at_stop_.reset();
  stopping();  // also where it ends by itself
}

void Service::stopping() {
  if (manager_ && !stops_.exchange(true)) manager_->tell("STOPPING=1\nSTATUS=stopping; waiting for running jobs");
}

void Service::ready() {
  if (!manager_ || ready_.exchange(true)) return;
  if (!manager_->tell("READY=1")) ready_ = false;  // its queue is full: with the next one
}

Task Service::attend(std::function<std::string()> describe) {
  if (!manager_) return {};
  (void)runtime().now();  // whatever was waited for until now
  return runtime_.spawn("service", [this, describe = std::move(describe)](std::stop_token stop) {
    std::string said;
    do {
      const std::string status = printable(one_line(describe()));
      if (status != said && !stops_ && manager_->tell("STATUS=" + status)) said = status;
      if (watchdog_) sign_of_life();
      // After a pause of the whole process this one may look before the others had their turn.
    } while (runtime_.sleep_for(hangs_ ? slice_ : watchdog_ ? *watchdog_ / 2 : kStatusEvery, stop));
  });
}

void Service::sign_of_life() {
  const std::optional<std::string> hanging = watched_->hanging(patience_);
  if (!hanging) manager_->tell("WATCHDOG=1");
  else if (!hangs_) log_.error("thread_hangs", {{"thread", *hanging}, {"longer_than_us", patience_.count()}});
  hangs_ = hanging.has_value();
}

Result<ClaimReply> ServiceStore::claim(const ClaimRequest& request) {
  Result<ClaimReply> reply = ForwardingStore::claim(request);
  answered(reply ? nullptr : &reply.error());
  if (reply) {
    claimed_ += static_cast<std::int64_t>(reply->jobs.size());
    if (registered_) service_.ready();
  }
  return reply;
}

Result<SettleReply> ServiceStore::settle(const SettleRequest& request) {
  Result<SettleReply> reply = ForwardingStore::settle(request);
  answered(reply ? nullptr : &reply.error());
  if (reply)
    settled_ += static_cast<std::int64_t>(request.settlements.size() -
                                          std::min(request.settlements.size(), reply->refused.size()));
  return reply;
}

Result<void> ServiceStore::report_worker(const WorkerReport& report) {
  Result<void> reported = ForwardingStore::report_worker(report);
  answered(reported ? nullptr : &reported.error());
  if (reported) registered_ = true;
  return reported;
}

void ServiceStore::answered(const Error* error) {
  const std::lock_guard lock(mutex_);
  away_ = error == nullptr ? "" : error->message;
}

std::string ServiceStore::describe() const {
  const std::string counts = std::to_string(claimed_) + " claimed, " + std::to_string(settled_) + " settled";
  const std::lock_guard lock(mutex_);
  return away_.empty() ? counts : counts + "; waiting for the store: " + away_;
}

}  // namespace fenceline::cli
