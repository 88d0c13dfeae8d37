// Signals that somebody sends to this process, handed on to a command that it runs.
#pragma once

#include <functional>

#include "runtime/runtime.hpp"

namespace fenceline::cli {

// While it lives, HUP, INT, QUIT, TERM, USR1 and USR2 ask this process for nothing: `pass_on` gets each, on a task of its own. Not what a
// terminal sends: that reaches the command as well, which is in the same process group. One at a time in a process.
class SignalForward {
 public:
  SignalForward(Runtime& runtime, std::function<void(int)> pass_on);
  // From then on signals mean what they meant before.
  ~SignalForward();
  SignalForward(const SignalForward&) = delete;
  SignalForward& operator=(const SignalForward&) = delete;

 private:
  Task listener_;
};

}  // namespace fenceline::cli
