// A job as it must stand, computed from ground truth by rules written down here a second time: a check that asked
// the store's own rules would agree with their mistakes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "model/job.hpp"

namespace fenceline::sim {

struct KnownJob {
  JobId id;
  std::string queue;
  std::string stage;
  std::int64_t attempts_max = 0;
  JobState state = JobState::ready;
  WallTime run_at;
  Fence fence = 0;        // of the newest grant, or of its burial
  std::string owner;
  std::string request;    // the claim that granted it
  Instant lease_end{};    // while running
  std::int64_t deliveries = 0;
  std::int64_t failures = 0;
  std::int64_t losses = 0;
  std::int64_t losses_in_row = 0;
  std::int64_t laters = 0;
  std::int64_t poisoned_in_row = 0;  // of losses_in_row: those a neighbour caused
  std::optional<OutcomeKind> outcome;  // accepted under `fence`

  bool finished() const { return state == JobState::done || state == JobState::dead || state == JobState::cancelled; }
  bool expired(Instant now) const { return state == JobState::running && lease_end <= now; }
  bool leased(Instant now) const { return state == JobState::running && lease_end > now; }

  // An outcome was accepted.
  void settle(const Outcome& accepted, WallTime now);
  // Its delivery ended by expiry.
  void lose(bool by_a_neighbour);
};

}  // namespace fenceline::sim
