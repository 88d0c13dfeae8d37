// How a lock of the inventory looks: as JSON, in a list, and alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {

// A row of the store, and what the gates of the current folder know of it.
struct ShownLock {
  LockRow row;
  std::optional<Fence> seen_in_folder;  // the largest fence of it that a gate in the folder of gates let in
};

// "held" (somebody has a live lease), "expired" (a lease ran out, and nobody took over), "resting" (nobody has it, and
// nobody gets it yet: held to its end or at least, or delayed), "free".
std::string lock_state(const LockRow& row);

// Whether a fence of it was ever seen at a gate: "newest", "older" or "never".
std::string seen_at_gate(const ShownLock& lock);

std::string lock_json(const ShownLock& lock);
// `now` tells ages.
Table lock_table(const std::vector<ShownLock>& locks, WallTime now);
Table lock_card(const ShownLock& lock, WallTime now);

}  // namespace fenceline::cli
