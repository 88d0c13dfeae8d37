// What this machine is called, and how much of it we may use.
#pragma once

#include <string>

namespace fenceline {

std::string host_name();  // empty if the system does not say

// Cores that this process may run on; at least 1.
int usable_cores();

}  // namespace fenceline
