#include "cli/locks/locked_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/crash_point.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/stderr_log.hpp"
#include "cli/locks/signal_forward.hpp"
#include "history/recorder.hpp"
#include "runtime/guarded_command.hpp"
#include "runtime/host.hpp"
#include "runtime/process_tree.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

// A guardian that has not reported by then is stopped, and its command works on. Another may have the lock when the
// margin is over too.
constexpr Duration kGuardianLateMost = std::chrono::milliseconds{500};
constexpr std::uint64_t kTidyOneIn = 20;
constexpr int kTidyAtOnce = 100;  // more than are made in the meantime
constexpr Duration kTimeoutGraceMost = std::chrono::seconds{5};

GuardedCommandOptions guarded_by(const Invocation& invocation, const CommandLease& lease) {
  GuardedCommandOptions guarded{.guardian = {"/proc/self/exe", "guardian", "--attached-to", std::to_string(::getpgrp()),
                                             "--grace-us", std::to_string(lease.times.grace.count()), "--"},
                                .environment = environment_with(lock_variables(invocation, lease)),
                                .attached = true};
  for (const int signal : SignalForward::ignored())
    guarded.guardian.insert(guarded.guardian.end() - 1, {"--ignored", std::to_string(signal)});
  guarded.guardian.insert(guarded.guardian.end(), invocation.command.begin(), invocation.command.end());
  return guarded;
}

// Looks after the guardian: at the deadline, as it moves, its time is over too.
class GuardianWatch {
 public:
  GuardianWatch(Runtime& runtime, GuardedCommand& command, TrustDeadline& trust, const LeaseTimes& times)
      : late_by_(std::min(kGuardianLateMost, times.margin / 2)), moved_(runtime.make_event()) {
    watch_ = runtime.spawn("guardian_watch", [this, &runtime, &command, &trust](std::stop_token ended) {
      const std::stop_callback wake(ended, [this] { moved_->notify(); });
      while (!ended.stop_requested()) {
        const Instant late = late_at(trust.until());
        if (moved_->wait_until(late) || runtime.now() < late_at(trust.until())) continue;
        late_ = true;
        command.kill_guardian();
        return;
      }
    });
  }
  // The deadline is another one.
  void moved() { moved_->notify(); }
  bool was_late() const { return late_; }

 private:
  Instant late_at(Instant until) const { return until < Instant::max() - late_by_ ? until + late_by_ : Instant::max(); }

  const Duration late_by_;
  std::unique_ptr<Event> moved_;
  std::atomic<bool> late_ = false;
  Task watch_;
};

LockedEnd cannot_run(const std::string& why) {
  tell("fenceline: " + why);
  return {.status = kExitCannotBeRun};
}

LockedEnd end_of(const CommandEnd& end, const CommandLease& lease, bool timed_out, bool late) {
  LockedEnd result{.lost = late || lease.lost() || (end.stopped && !timed_out)};
  if (end.guardian_died) {
    result.status = kExitSignalBase + SIGKILL;
    if (result.lost) return result;
    tell("fenceline: " + end.trouble + ", and the command with it");
    return result;
  }
  if (end.status) result.status = end.status->exited ? end.status->number : kExitSignalBase + end.status->number;
  else if (end.stopped) result.status = kExitSignalBase + SIGKILL;
  else if (!result.lost) return cannot_run(end.trouble);
  return result;
}

}  // namespace

CommandLease lease_of(const HeldLock& held) {
  return {.resource = held.resource(),
          .grants = held.grants(),
          .times = times_of(held),
          .trust = trust_of(held),
          .stop = held.stop(),
          .lost = [&held] { return held.lost(); }};
}

std::vector<std::pair<std::string, std::string>> lock_variables(const Invocation& invocation,
                                                                const CommandLease& lease) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const LockGrant& grant : lease.grants) all[grant.resource] = grant.fence;
  std::vector<std::pair<std::string, std::string>> variables{
      {"FENCELINE_LOCK", lease.resource},
      {"FENCELINE_FENCE", lease.fence() == 0 ? "" : std::to_string(lease.fence())},
      {"FENCELINE_LOCKS", all.dump()},
      {"FENCELINE_STORE", from_any_folder(invocation.store_url)},
      {"FENCELINE_NAMESPACE", invocation.ns}};
  // Of a lock in a lock in a handler, the job's is the outermost one.
  if (from_environment("FENCELINE_JOB") && !from_environment("FENCELINE_JOB_FENCE"))
    variables.emplace_back("FENCELINE_JOB_FENCE", from_environment("FENCELINE_FENCE").value_or(""));
  return variables;
}

std::optional<int> command_missing(const Invocation& invocation) {
  const Result<std::string> program = find_program(invocation.command.front());
  if (program) return std::nullopt;
  tell("fenceline: " + error_text(program.error()));
  return program.error().code == Code::not_found ? kExitNoCommand : kExitCannotBeRun;
}

LockedEnd run_locked(Invocation& invocation, const CommandLease& lease, std::optional<Duration> timeout) {
  Runtime& runtime = *invocation.runtime;
  FENCELINE_CRASH_POINT(lock_command_before);
  become_subreaper();
  const Result<std::unique_ptr<GuardedCommand>> started = GuardedCommand::start(guarded_by(invocation, lease));
  if (!started) return cannot_run(started.error().message);
  GuardedCommand& command = **started;
  std::atomic<bool> timed_out = false;
  bool late = false;
  int asked_to_end = 0;
  CommandEnd end;
  {
    const SignalForward forward(runtime, [&](int signal) { command.order({GuardianOrder::Kind::signal, {}, signal}); });
    if (was_interrupted(invocation.stop)) return {.status = interrupted_exit(), .interrupted = true};
    // In this order: the first deadline starts the command, a stop that is there already comes after it.
    GuardianWatch watch(runtime, command, lease.trust, lease.times);
    const TrustListening listening(lease.trust, [&](Instant until) {
      command.order({GuardianOrder::Kind::trust, until});
      watch.moved();
    });
    const std::stop_callback stop(lease.stop, [&] { command.order({GuardianOrder::Kind::term, lease.trust.until()}); });
    Task timer;
    if (timeout) {
      timer = runtime.spawn("lock_timeout", [&, until = runtime.now() + *timeout](std::stop_token ended) {
        if (!runtime.sleep_until(until, ended)) return;
        timed_out = true;
        command.order({GuardianOrder::Kind::term, runtime.now() + std::min(lease.times.grace, kTimeoutGraceMost)});
      });
    }
    end = command.attend({});
    late = watch.was_late();
    asked_to_end = forward.asked_to_end();
  }
  // Processes of a dead guardian become our children, and only we can stop them.
  if (end.guardian_died) end_strays({});
  if (timed_out) tell("fenceline: " + lease.resource + ": the command exceeded --timeout and was stopped");
  LockedEnd result = end_of(end, lease, timed_out, late);
  result.asked_to_end = asked_to_end;
  return result;
}

void tidy_now_and_then(const Invocation& invocation, Store& store) {
  if (invocation.runtime->random() % kTidyOneIn != 0) return;
  // What is left is the next one's.
  [[maybe_unused]] const auto tidied =
      store.tidy({.ns = invocation.ns, .limit = kTidyAtOnce, .timeout = std::chrono::seconds{1}});
}

void record_started(const Session& session, const HeldLock& held) {
  if (session.recorder() == nullptr) return;
  for (const LockGrant& grant : held.grants())
    session.recorder()->lock_work(history::Kind::started, held.owner(), grant.resource, grant.fence);
}

void record_ended(const Session& session, const HeldLock& held, bool lost) {
  if (session.recorder() == nullptr) return;
  for (const LockGrant& grant : held.grants())
    session.recorder()->lock_work(history::Kind::ended, held.owner(), grant.resource, grant.fence,
                                  lost ? "lost" : "done");
}

LockLog::LockLog(const Invocation& invocation) : sink_(&null_log_sink()) {
  if (from_environment("FENCELINE_LOG")) sink_ = invocation.log_sink;
  if (!invocation.json) return;
  own_ = std::make_unique<StderrLog>(*invocation.runtime, Level::info);
  sink_ = own_.get();
}

LockLog::~LockLog() = default;

}  // namespace fenceline::cli
