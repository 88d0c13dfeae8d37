// How a process's connections are named on a Redis server, for whoever reads CLIENT LIST: fenceline:HOST:PID.
#pragma once

#include <sys/types.h>

#include <string>

#include "runtime/host.hpp"

namespace fenceline::redis {

// Of a process on this machine. The server takes no blanks in a name.
inline std::string client_name(pid_t process) {
  std::string name = "fenceline:";
  for (const char c : host_name()) name += c > ' ' && c < 0x7f ? c : '?';
  return name + ":" + std::to_string(process);
}

}  // namespace fenceline::redis
