#include "cli/frame/place.hpp"

#include <unistd.h>

#include "model/lock.hpp"
#include "runtime/host.hpp"

namespace fenceline::cli {

std::string lock_place() {
  const std::string pid = ":" + std::to_string(::getpid());
  return host_name().substr(0, kLockNoteBytesMax - pid.size()) + pid;
}

}  // namespace fenceline::cli
