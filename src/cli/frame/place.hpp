#pragma once

#include <string>

namespace fenceline::cli {

// Where this process is, for the inventory of locks: "host:pid".
std::string lock_place();

}  // namespace fenceline::cli
