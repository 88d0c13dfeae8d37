// How a lock of the inventory looks: as JSON, in a list, and alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/gate_place.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {

// A row of the store, and what the gates of the current folder know of it.
struct ShownLock {
  LockRow row;
  std::optional<SeenGate> outside;  // of the gates that the folder of gates knows, the one with the largest fence
};

// "held" (somebody has a live lease), "expired" (a lease ran out, and nobody took over), "resting" (nobody has it, and
// nobody gets it yet: held to its end or at least, or delayed), "free".
std::string lock_state(const LockRow& row);

// Whether a fence of it was ever seen at a gate: "newest", "older", "never", or "ahead": a gate has let in a larger
// fence than the store ever granted, so the store was set back.
std::string seen_at_gate(const ShownLock& lock);

std::string lock_json(const ShownLock& lock);
// `now` tells ages.
Table lock_table(const std::vector<ShownLock>& locks, WallTime now);
Table lock_card(const ShownLock& lock, WallTime now);

}  // namespace fenceline::cli
