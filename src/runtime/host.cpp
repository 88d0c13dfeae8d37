#include "runtime/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace fenceline {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(CPU_COUNT(&allowed), 1) : 1;
}

}  // namespace fenceline
