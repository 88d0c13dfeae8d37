// JSON as commands print it: members stay in the order in which they were added.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/time.hpp"

namespace fenceline::cli {

using Json = nlohmann::ordered_json;

// A duration as JSON.
inline std::int64_t whole_milliseconds(Duration duration) {
  return std::chrono::floor<std::chrono::milliseconds>(duration).count();
}

}  // namespace fenceline::cli
