// Forwards signals that are sent to this process to the command that it runs.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "runtime/runtime.hpp"

namespace fenceline::cli {

// While it lives, HUP, INT, QUIT, TERM, USR1 and USR2 ask this process for nothing: `pass_on` gets each, on a task of
// its own. Not what a terminal sends: that reaches the command as well, which is in the same process group. Those that
// were ignored when the program was started (nohup) stay so. One at a time in a process.
class SignalForward {
 public:
  SignalForward(Runtime& runtime, std::function<void(int)> pass_on);
  // From then on signals mean what they meant before.
  ~SignalForward();
  SignalForward(const SignalForward&) = delete;
  SignalForward& operator=(const SignalForward&) = delete;

  // The last of INT, QUIT and TERM that came, also from a terminal: somebody wants an end. 0: none. HUP asks many a
  // server to read its settings again.
  int asked_to_end() const { return asked_to_end_; }

  // Of all that would be handed on, what was ignored when the program was started.
  static std::vector<int> ignored();

 private:
  std::atomic<int> asked_to_end_ = 0;
  Task listener_;
};

}  // namespace fenceline::cli
