// A process of this same program, started by a drill or a bench: lines in, lines out, a signal, an exit.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::cli {

struct Exit {
  int status = 0;  // exit code, or 128 + signal
  int signal = 0;  // 0: it ended by itself
};

// Killed and reaped when it goes away. One thread uses it.
class OwnProcess {
 public:
  // Starts `fenceline arguments...` with `environment` laid over this process's own; what follows --store goes by
  // FENCELINE_STORE. Its stderr goes to `stderr_path`, or nowhere if empty. Errors: unavailable.
  static Result<std::unique_ptr<OwnProcess>> start(Runtime& runtime, const std::vector<std::string>& arguments,
                                                   const std::map<std::string, std::string>& environment = {},
                                                   const std::string& stderr_path = "");
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of its stdout; empty at its end or when `deadline` passed.
  std::optional<std::string> read_line(Instant deadline);
  // A line to its stdin: opens a barrier it waits at.
  void write_line(const std::string& line);
  // All that is left of its stdout, then its exit. Killed if it is not over by `deadline`.
  Exit finish(Instant deadline, std::string* output = nullptr);

 private:
  OwnProcess(Runtime& runtime, pid_t pid, int in, int out) : runtime_(runtime), pid_(pid), stdin_(in), stdout_(out) {}
  bool fill(Instant deadline);

  Runtime& runtime_;
  pid_t pid_;
  int stdin_;
  int stdout_;
  std::string buffer_;
  bool ended_ = false;  // its stdout is closed
};

}  // namespace fenceline::cli
