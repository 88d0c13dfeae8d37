// The calls of a history, sorted by the job that they concern.
#pragma once

#include <unordered_map>
#include <vector>

#include "check/call_log.hpp"
#include "check/job_model.hpp"

namespace fenceline::audit {

class JobOps {
 public:
  explicit JobOps(const CallLog& log);

  // By the time they were asked. `stretches`: renewals without an answer.
  void of(std::uint32_t job, std::vector<JobOp>& ops, std::vector<JobOp>& stretches) const;
  // Its calls as they stand, without what concerns whole queues.
  const JobOp* begin(std::uint32_t job) const { return ops_.data() + first_[job]; }
  const JobOp* end(std::uint32_t job) const { return ops_.data() + first_[job + 1]; }

 private:
  template <class Take>
  void each_op(Take take) const;

  const CallLog& log_;
  std::vector<JobOp> ops_;
  std::vector<std::uint32_t> first_;  // by job: where its ops begin
  std::unordered_map<Name, std::vector<CallNumber>> purges_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> given_back_;  // by owner and request: the jobs
};

}  // namespace fenceline::audit
