// One command under its guardian, as the worker's side sees it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/child_process.hpp"
#include "runtime/guardian.hpp"

namespace fenceline {

struct GuardedCommandOptions {
  std::vector<std::string> guardian;     // the program that calls run_guardian(), with its arguments
  std::vector<std::string> environment;  // of the guardian: "NAME=value"
  bool attached = false;  // the command has our own stdin, stdout and stderr: nothing is fed or collected
  std::size_t output_bytes_max = 0;
  std::size_t errors_bytes_max = 0;
  // Gets whole lines of its stderr in place of our own stderr.
  std::function<void(std::string_view)> forward_errors = {};
  std::function<void(std::string_view)> on_errors = {};  // gets what the command writes to stderr, as it comes
};

struct CommandEnd {
  bool stopped = false;              // killed by its guardian: its time was over
  std::optional<ExitStatus> status;  // if it ended by itself
  std::string trouble;               // otherwise: why it could not be run to its end
  bool no_room = false;              // that was for want of a process or the like: it may be tried later
  bool guardian_died = false;        // then something of the command may be left
  std::string output;                // its stdout
  bool output_too_large = false;     // then `output` is not whole
  std::string errors;                // the end of its stderr
};

class GuardedCommand {
 public:
  // Starts the guardian. The command starts with the first order to trust. Errors: not_found, refused, unavailable.
  static Result<std::unique_ptr<GuardedCommand>> start(const GuardedCommandOptions& options);

  // Without attend(): kills the command, and waits for that.
  ~GuardedCommand();
  GuardedCommand(const GuardedCommand&) = delete;
  GuardedCommand& operator=(const GuardedCommand&) = delete;

  pid_t guardian_pid() const { return guardian_.pid; }

  // From any thread; never blocks. One that a guardian does not take is dropped: that only ends its command sooner.
  void order(const GuardianOrder& order);

  // For one that is stopped, and lets its command work on: the kernel ends the command with it. From any thread, until
  // attend() has returned.
  void kill_guardian();

  // Feeds the command, and collects what it writes, until it and all that it started have ended. What it writes to
  // stderr goes on to ours, or to `forward_errors`, in whole lines. Once.
  CommandEnd attend(std::string_view input);

 private:
  GuardedCommand(const GuardedCommandOptions& options, ChildProcess guardian, UniqueFd input, UniqueFd output,
                 UniqueFd errors, UniqueFd orders, UniqueFd reports);

  void feed(std::string_view& input);
  void read_output(CommandEnd& end);
  void read_errors(CommandEnd& end);
  void forward_errors(bool all);
  void read_report(CommandEnd& end);

  const std::size_t output_bytes_max_;
  const std::size_t errors_bytes_max_;
  const std::function<void(std::string_view)> write_errors_;
  const std::function<void(std::string_view)> on_errors_;
  ChildProcess guardian_;
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
  UniqueFd orders_;
  UniqueFd reports_;
  std::string line_;    // of its stderr, not whole yet
  std::string report_;  // of the guardian, not whole yet
  bool over_ = false;
  bool reaped_ = false;
};

}  // namespace fenceline
