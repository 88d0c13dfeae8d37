// A process of `fenceline drill kill`, which may be told to die at a crash point.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/own_process.hpp"

namespace fenceline::cli {

struct ArmedProcess {
  std::string store_url;
  std::string ns;
  std::string folder;        // where its words go
  std::string mark;          // a file that it makes when it meets the point
  std::string_view dies_at;  // empty: nowhere
};

struct Ended {
  Exit exit;
  std::string output;
};

// `fenceline arguments...` to its end.
Ended run_armed(const Invocation& invocation, std::vector<std::string> arguments, const ArmedProcess& process);

}  // namespace fenceline::cli
