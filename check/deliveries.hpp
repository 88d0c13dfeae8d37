// Each delivery that a history shows, with the times between which it was held for certain, and for each job how long
// it was unfinished for certain. Checks over several jobs are made of these: what is not certain is not held against
// anyone.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "check/call_log.hpp"
#include "check/job_model.hpp"
#include "check/job_ops.hpp"

namespace fenceline::audit {

struct Delivery {
  std::uint32_t job = 0;
  std::int64_t fence = 0;
  CallNumber call = kNoCall;  // the first claim whose answer shows it
  std::uint32_t item = 0;
  Time asked = 0;             // the first time, if the claim was sent again
  Time answered = 0;          // from here on it is held for certain,
  Time held_until = kAlways;  // until here at least; nothing is certain if that is before `answered`
  Time lease_least = kAlways;
  Time lease_most = kNever;
};

struct JobSpan {
  Time first_asked = kNever;  // of its enqueue
  Time there_since = kNever;  // acknowledged under its own id
  Time unfinished_until = kAlways;
  CallNumber enqueue = kNoCall;  // that was acknowledged first
};

class Deliveries {
 public:
  Deliveries(const CallLog& log, const JobOps& ops, const Unseen& unseen);

  const std::vector<Delivery>& all() const { return all_; }  // by job, then fence
  const Delivery* find(std::uint32_t job, std::int64_t fence) const;
  // Those of a job: first, and behind the last.
  const Delivery* begin(std::uint32_t job) const { return all_.data() + first_[job]; }
  const Delivery* end(std::uint32_t job) const { return all_.data() + first_[job + 1]; }
  const JobSpan& span(std::uint32_t job) const { return spans_[job]; }

 private:
  void find_grants(std::uint32_t job);
  void find_ends(std::uint32_t job);
  void find_span(std::uint32_t job, const Unseen& unseen);

  const CallLog& log_;
  const JobOps& ops_;
  std::vector<Delivery> all_;
  std::vector<std::uint32_t> first_;
  std::vector<JobSpan> spans_;
  std::unordered_map<std::uint64_t, Time> first_asked_;  // by owner and request of claims
  std::vector<Time> purged_;                             // by queue: when the first purge was sent
};

}  // namespace fenceline::audit
