// A namespace of a memory store as a doctor meets it: jobs, workers and locks are brought about by the verbs that make
// them, and time passes by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "doctor/state.hpp"
#include "services/fresh_id.hpp"
#include "support/hand_runtime.hpp"
#include "support/results.hpp"

namespace fenceline::test {

struct StateOnMemory : testing::Test {
  static constexpr Duration kTtl = std::chrono::seconds{30};

  ManualClock clock;
  HandRuntime runtime{clock};
  MemoryStore store{clock};
  StateOptions options{.ns = "default"};

  Looked look() { return must(look_at_state(runtime, store, options)); }
  std::vector<Finding> found(std::string_view check) {
    std::vector<Finding> all = look().findings;
    std::erase_if(all, [&](const Finding& finding) { return finding.name != check; });
    return all;
  }
  // The only one of a check.
  Finding one(std::string_view check) {
    const std::vector<Finding> all = found(check);
    EXPECT_EQ(all.size(), 1U) << check;
    return all.empty() ? Finding{} : all.front();
  }
  void expect_only(std::initializer_list<std::string_view> checks) {
    for (const Finding& finding : look().findings) {
      const bool named = std::ranges::find(checks, finding.name) != checks.end();
      EXPECT_EQ(finding.status != FindingStatus::ok, named) << finding.name << ": " << finding.detail;
    }
  }

  JobId enqueue(NewJob job) {
    job.id = *parse_uuid(fresh_id(runtime));
    if (job.queue.empty()) job.queue = "mail";
    const JobId id = job.id;
    must(store.enqueue({.ns = options.ns, .jobs = {std::move(job)}}));
    return id;
  }
  // The fence of the first job that it gets; 0: none.
  Fence claim(const std::string& owner, const std::string& queue = "mail") {
    const ClaimReply reply = must(store.claim(
        {.ns = options.ns, .queues = {queue}, .owner = owner, .request = fresh_id(runtime), .limit = 1, .ttl = kTtl}));
    return reply.jobs.empty() ? 0 : reply.jobs.front().job.fence;
  }
  void report(const std::string& owner, std::vector<Holding> holding = {}, const std::string& queue = "mail") {
    must(store.report_worker({.ns = options.ns,
                              .owner = owner,
                              .host = "box",
                              .pid = 4711,
                              .version = "1",
                              .queues = {queue},
                              .ttl = kTtl,
                              .holding = std::move(holding)}));
  }
  void settle(const std::string& owner, const JobId& id, Fence fence, Outcome outcome) {
    EXPECT_TRUE(must(store.settle({.ns = options.ns, .owner = owner, .settlements = {{id, fence, std::move(outcome)}}}))
                    .refused.empty());
  }
  void pass(Duration time) { clock.advance(time); }
};

}  // namespace fenceline::test
