// A job as people and scripts see it.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/table.hpp"
#include "model/job.hpp"

namespace fenceline::cli {

struct JobShown {
  bool result = false;   // what a handler returned; never in lists
  bool payload = false;  // on request only
};

// One JSON object on one line. The payload keeps every digit of its numbers; a result that is not UTF-8 becomes
// {"base64":...}.
std::string job_json(const Job& job, JobShown shown);

// Columns of a list of jobs: all fields but payload and result; on a terminal the important ones, and progress and
// holder from 100 columns on. `now` is for ages.
Table job_table(const std::vector<Job>& jobs, WallTime now);

// One field a line: name and value; then its deliveries, a line each.
Table job_card(const Job& job, const std::vector<Attempt>& attempts, JobShown shown);

// A JSON array.
std::string attempts_json(const std::vector<Attempt>& attempts);

}  // namespace fenceline::cli
