// A command that runs while a lock is held, and not a moment longer: under a guardian, with our own stdin, stdout and
// stderr.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "fenceline/held_lock.hpp"
#include "handler/handler.hpp"
#include "model/trust.hpp"

namespace fenceline::cli {

// Under what a command runs: a lock that is held; or nothing, where the store is away and the lock's class says to go
// on.
struct CommandLease {
  std::string resource;
  std::vector<LockGrant> grants;  // none: nothing keeps others out
  LeaseTimes times;
  TrustDeadline& trust;  // until when it may run
  std::stop_token stop;  // it must end
  std::function<bool()> lost;

  Fence fence() const { return grants.empty() ? 0 : grants.front().fence; }
};
CommandLease lease_of(const HeldLock& held);

struct LockedEnd {
  int status = 0;            // of the command, 128 + n for a signal; of a command that could not be run, 126
  bool lost = false;         // it was ended, or told to end, because the lock was or would have been lost
  bool interrupted = false;  // a signal came before it began: it was not run
  int asked_to_end = 0;      // the last signal that asked it to end
};

// What a command finds in its environment: FENCELINE_LOCK, FENCELINE_FENCE, FENCELINE_LOCKS, FENCELINE_STORE,
// FENCELINE_NAMESPACE. Inside of a handler its job's own fence stays as FENCELINE_JOB_FENCE.
std::vector<std::pair<std::string, std::string>> lock_variables(const Invocation& invocation,
                                                                const CommandLease& lease);

// Whether the command is there. Empty, or the exit status; then it has been told why.
std::optional<int> command_missing(const Invocation& invocation);

// Runs the invocation's command. Signals that are sent to this process go to the command meanwhile. `timeout`: TERM
// then, KILL after the grace.
LockedEnd run_locked(Invocation& invocation, const CommandLease& lease, std::optional<Duration> timeout);

// Now and then, after a lock was given back: removes what is kept of locks that have been free for long. Where only
// commands use a store, nobody else would.
void tidy_now_and_then(const Invocation& invocation, Store& store);

// The work under a lock, into the session's history if it has one.
void record_started(const Session& session, const HeldLock& held);
void record_ended(const Session& session, const HeldLock& held, bool lost);
inline constexpr const char* kHistoryHelp = "append every lock call to the store to FILE; see 'fenceline audit'";

// What the program itself does not say in words: with --json every event, one object a line on stderr; else what
// FENCELINE_LOG asks for.
class LockLog {
 public:
  explicit LockLog(const Invocation& invocation);
  ~LockLog();
  Log log() const { return Log(*sink_); }
  LogSink& sink() const { return *sink_; }

 private:
  LogSink* sink_;
  std::unique_ptr<LogSink> own_;
};

}  // namespace fenceline::cli
