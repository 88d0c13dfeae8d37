// Looks for one order of a job's calls, each at a moment between its question and its answer, in which the model takes
// every step: in the manner of Wing and Gong, one job at a time. Walks along the answers and keeps every state that is
// possible, with those calls in it that have taken effect before their answer; equal ones are one.
#pragma once

#include <optional>
#include <vector>

#include "check/job_model.hpp"

namespace fenceline::audit {

struct Effort {
  std::size_t states_most = 4096;  // of one job at one moment; beyond it nobody knows
};

struct Search {
  enum class End { found, none, gave_up };
  End end = End::found;
  Complaint why;  // none: at which call, and why
  Time at = 0;
  std::size_t states = 0;  // looked at
};

// `forgotten`: moments at which the store may have forgotten its last ones.
Search linearize(const JobModel& model, const std::vector<JobOp>& ops, const std::vector<JobOp>& stretches,
                 const std::vector<Time>& forgotten, const Effort& effort);

}  // namespace fenceline::audit
