// Why a job is where it is, in sentences. Pure: all that it knows is in the facts, which a store took at one moment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "store/job_control.hpp"

namespace fenceline::cli {

struct Reason {
  std::string name;      // for scripts: "paused"
  std::string sentence;  // for people, without a full stop; may end in "; " and a command

  bool operator==(const Reason&) const = default;
};

// Names: leased, lease_ran_out; paused, not_yet, group, limit, limit_key, slot, alone, no_worker, claimable; waiting;
// done, attempts_used_up, lost_too_often, dead_at_once, dead, cancelled, key_held. At least one.
// `ended_by`: of a cancelled job, who did it, if the trail still tells.
std::vector<Reason> explain(const JobFacts& facts, WallTime now, const std::optional<Act>& ended_by = std::nullopt);

}  // namespace fenceline::cli
