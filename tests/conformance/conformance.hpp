// One suite, every store. A backend's own test adds the last line only, with a function that opens it:
//   FENCELINE_CONFORMANCE(Memory, &open_memory_harness);
// and links the objects of fenceline_conformance (TEST_DEPENDS conformance).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conformance/harness.hpp"
#include "support/results.hpp"

namespace fenceline::test {

inline constexpr Duration kTtl = std::chrono::seconds{2};
inline constexpr Duration kMoment{1};  // the least that a clock can tell

// The words in which the cases are written. Unless told otherwise everything is about namespace `default` and
// queue `q`.
class StoreConformance : public testing::TestWithParam<OpenHarness> {
 protected:
  StoreConformance() : harness_(GetParam()()) {}

  Store& store() { return harness_->store(); }
  void let_time_pass(Duration duration) { harness_->let_time_pass(duration); }
  WallTime wall() { return harness_->wall(); }
  void set_wall(WallTime to) { harness_->set_wall(to); }
  bool reopen() { return harness_->reopen(); }

  JobId new_id();
  NewJob new_job(std::string queue = "q");
  JobId added(const NewJob& job, const std::string& ns = "default");
  JobId added_to(const std::string& queue) { return added(new_job(queue)); }

  // A claim that was not made before.
  ClaimRequest asking(const std::string& owner, int limit = 1);
  std::vector<ClaimedJob> claimed(const ClaimRequest& request) { return must(store().claim(request)).jobs; }
  // The one job that can be had.
  ClaimedJob claimed_by(const std::string& owner);
  std::vector<JobId> claimed_ids(const ClaimRequest& request);
  Result<void> give_back(const ClaimRequest& request);

  // The reason of the refusal; empty: accepted.
  std::string settled(const std::string& owner, const Holding& holding, const Outcome& outcome, const std::string& ns = "default");
  std::string extended(const std::string& owner, const Holding& holding, Duration ttl = kTtl, const std::string& ns = "default");

  // As it stands; it must be there.
  Job look(const JobId& id, const std::string& ns = "default");
  // Claims the job, and lets its lease run out, so often.
  void lose(const JobId& id, int times);
  // All jobs of a namespace, in order, page by page, with payloads.
  std::vector<Job> everything(const std::string& ns = "default");

 private:
  std::unique_ptr<StoreHarness> harness_;
  std::uint64_t last_number_ = 0;
};

inline Holding holding_of(const ClaimedJob& claimed) { return {claimed.job.id, claimed.job.fence}; }
std::vector<JobId> ids_of(const std::vector<Job>& jobs);

class JobConformance : public StoreConformance {};
class RegistryConformance : public StoreConformance {};
class TrailConformance : public StoreConformance {};

}  // namespace fenceline::test

#define FENCELINE_CONFORMANCE(name, open)                                                  \
  namespace fenceline::test {                                                              \
  INSTANTIATE_TEST_SUITE_P(name, JobConformance, testing::Values(OpenHarness{open}));      \
  INSTANTIATE_TEST_SUITE_P(name, RegistryConformance, testing::Values(OpenHarness{open})); \
  INSTANTIATE_TEST_SUITE_P(name, TrailConformance, testing::Values(OpenHarness{open}));    \
  }                                                                                        \
  static_assert(true)
