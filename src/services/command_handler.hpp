// A handler that runs a command for each job, under a guardian: payload on stdin, stdout its result, the exit status
// its outcome. Never through a shell.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handler/handler.hpp"
#include "runtime/clock.hpp"
#include "runtime/guarded_command.hpp"
#include "services/end_policy.hpp"

namespace fenceline {

struct CommandOptions {
  // The program that calls run_guardian(), and what comes before `-- CMD ARG...`.
  std::vector<std::string> guardian = {"/proc/self/exe", "guardian"};
  std::vector<std::string> command;
  std::string store_url;
  std::string ns;
  EndPolicy ends;              // what the end of the command means
  bool clean_env = false;      // the command sees only what command_variables() names
  Duration grace{};            // between TERM and KILL at a stop; the trust deadline counts too
  bool owns_children = false;  // this process is a subreaper and has no other children than guardians
  // Gets whole lines of what commands write to stderr in place of our own stderr.
  std::function<void(std::string_view)> forward_errors = {};
};

// What a command finds in its environment beside, or with clean_env instead of, the inherited one. TRACEPARENT is set
// for a job that has one; otherwise it stays as it was inherited.
const std::vector<std::string>& command_variables();

// Of this process's own environment what they name.
std::vector<std::string> clean_environment();

class CommandHandler final : public Handler {
 public:
  CommandHandler(const Clock& clock, CommandOptions options) : clock_(clock), options_(std::move(options)) {}

  RunResult run(const Run& run) override;
  // Another command for the same worker, with the same environment and the same care.
  RunResult run(const Run& run, const std::vector<std::string>& words, const EndPolicy& ends);

 private:
  Result<std::unique_ptr<GuardedCommand>> start(const Run& run, const std::vector<std::string>& words);
  CommandEnd attend(GuardedCommand& command, const Run& run);
  void ended(pid_t guardian, bool guardian_died);

  const Clock& clock_;
  const CommandOptions options_;
  std::mutex mutex_;  // also held while a guardian starts: who is not in `guardians_` is no guardian
  std::set<pid_t> guardians_;
};

// What the end of a command says of its job. One that we told to end is given back unless it says something of its own
// accord (EndPolicy::of_told). One whose time was over has timed out unless it says so that it is done; the worker adds
// the words for that.
RunResult result_of(CommandEnd end, const EndPolicy& ends, Stopped stopped);

}  // namespace fenceline
