// Why a job is where it is, in sentences. Pure: all that it knows is in the facts, which a store took at one moment.
#pragma once

#include <map>
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

// What the trail tells of those who had a hand in it, if it still does.
struct KnownActs {
  std::optional<Act> ended;            // a cancelled job: who did it
  std::map<std::string, Act> quieted;  // by owner: who wanted it to be quiet
};

// Names: leased, lease_expired; paused, not_yet, group, limit, limit_key, slot, alone, quiet_workers, no_worker,
// claimable; waiting; done, attempts_used_up, lost_too_often, dead_at_once, dead, cancelled, key_taken. At least one.
std::vector<Reason> explain(const JobFacts& facts, WallTime now, const KnownActs& acts = {});

// A reason as people read it at a terminal: "- " and its parts, a line each, none longer than `width` if that can be. A
// command stays whole, for who copies it.
std::string reason_lines(const std::string& sentence, std::size_t width);

}  // namespace fenceline::cli
