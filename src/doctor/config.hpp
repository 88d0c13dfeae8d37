// Whether what was set fits what is measured: leases against round trips and against the work itself, what is kept, and
// locks whose fence is asked for and never looked at, or whose gate is ahead of the store.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

// Every name that a finding of these can have.
inline constexpr std::array<std::string_view, 2> kConfigChecks{"config", "lock_gates"};

struct ConfigOptions {
  std::string ns = "default";
  std::size_t findings_most = 5;  // of one check; then one more that says how many there are beside
  // Lock classes of fenceline.toml with pattern = "fenced".
  std::vector<std::string> fenced_classes = {};
  // The gate outside the store that let in the largest fence of a lock, if one is known here.
  struct SeenOutside {
    Fence fence = 0;
    std::string gate;    // where it is
    std::string rebase;  // the command that lifts the store above it
  };
  std::function<std::optional<SeenOutside>(const std::string& resource)> seen_outside = {};
};

// Asks for a few rows and some round trips; counts nothing. Both checks are in it at least once. Errors: the first that
// the store answers.
Result<std::vector<Finding>> look_at_config(Runtime& runtime, Store& store, const ConfigOptions& options);

}  // namespace fenceline
