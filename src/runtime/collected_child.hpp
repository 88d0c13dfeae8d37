// A program with our own stdin and stderr, whose stdout is collected.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "runtime/child_process.hpp"

namespace fenceline {

struct CollectRequest {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> variables;  // over our own environment
  bool takes_input = true;                                     // false: its stdin is empty
  std::size_t bytes_max = 0;                                   // of its stdout; what comes after is read and dropped
  std::stop_token stop = {};                                   // then its process group gets the signal
  int (*stop_signal)() = nullptr;                              // which one; none: SIGTERM
};

struct Collected {
  ExitStatus status;
  std::string output;
  bool too_large = false;  // there was more of it
};

// Never through a shell. It dies with the calling thread. Errors: not_found, refused (there, but not to be executed),
// unavailable (no room for a process).
Result<Collected> collect(const CollectRequest& request);

}  // namespace fenceline
