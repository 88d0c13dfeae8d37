// What the tests of metrics stand on: a memory store under a metered one, on a clock moved by hand, and which families
// moved.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "backends/memory/memory_store.hpp"
#include "base/uuid.hpp"
#include "metrics/metered_log.hpp"
#include "metrics/metered_store.hpp"
#include "metrics/metrics.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::metrics::test {

using fenceline::test::ManualClock;
using fenceline::test::must;

// Samples of a text by name and labels, as Prometheus reads them.
inline std::map<std::string, std::string> samples_of(const std::string& text) {
  std::map<std::string, std::string> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t end = line.rfind(' ');
    samples[line.substr(0, end)] = line.substr(end + 1);
  }
  return samples;
}

inline std::string name_of(const std::string& sample) { return sample.substr(0, sample.find('{')); }

class Metered : public testing::Test {
 protected:
  ManualClock clock;
  MemoryStore memory{clock};
  Metrics metrics{{.version = "1.2.3",
                   .store = "memory",
                   .guarantee = GuaranteeClass::b,
                   .queues = {"mail", "print"},
                   .checks = {"clock", "stale_jobs"}},
                  clock};
  MeteredStore store{clock, metrics, memory};
  MeteredLog sink{metrics, null_log_sink()};
  Log log{sink};
  std::map<std::string, std::string> before = samples_of(metrics.text(clock.now()));

  // Families with a sample that moved since the last look; those of every call to a store aside.
  std::set<std::string> moved() {
    const std::map<std::string, std::string> now = samples_of(metrics.text(clock.now()));
    std::set<std::string> names;
    for (const auto& [sample, value] : now) {
      if (before[sample] == value) continue;
      std::string name = name_of(sample);
      for (const char* end : {"_bucket", "_sum", "_count"}) {
        if (name.ends_with(end)) name.erase(name.size() - std::string(end).size());
      }
      names.insert(name);
    }
    before = now;
    for (const char* name : {"fenceline_store_call_seconds", "fenceline_store_up", "fenceline_sample_age_seconds"})
      names.erase(name);
    return names;
  }
  using Names = std::set<std::string>;

  JobId enqueue(int attempts_max = kAttemptsMaxDefault, const std::string& queue = "mail") {
    const JobId id = make_uuid7(clock.wall_now(), 1, ++ids_);
    must(memory.enqueue({.ns = "default", .jobs = {{.id = id, .queue = queue, .attempts_max = attempts_max}}}));
    return id;
  }
  ClaimedJob claim(const std::string& owner = "w-1") {
    const ClaimReply reply = must(store.claim({.ns = "default",
                                               .queues = {"mail"},
                                               .owner = owner,
                                               .request = "r" + std::to_string(++ids_),
                                               .limit = 10,
                                               .ttl = std::chrono::seconds{10}}));
    return reply.jobs.at(0);
  }
  SettleReply settle(const ClaimedJob& job, OutcomeKind kind) {
    return must(store.settle({.ns = "default",
                              .owner = job.job.owner,
                              .settlements = {{.id = job.job.id, .fence = job.job.fence, .outcome = {.kind = kind}}}}));
  }

 private:
  std::uint64_t ids_ = 0;
};

}  // namespace fenceline::metrics::test
