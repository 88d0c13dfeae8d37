// One random stream of operations through two stores that share one clock, compared after every step. The
// memory store is the oracle; what disagrees with it is wrong by the text of store/job_store.hpp, one or the other.
//
// The stream is made to be unkind: stale holdings are remembered and used, requests are repeated and given back
// early and late, leases end at the very microsecond at which someone asks, the wall clock is set, requests are
// malformed, and two namespaces use the same ids.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.hpp"
#include "support/manual_clock.hpp"

namespace fenceline::test {

struct DifferentialOptions {
  std::uint64_t seed = 1;
  int operations = 10'000;
  // Besides all else, many plain jobs in one call with ids close to each other, claimed and settled together: what a
  // store may keep in common for several jobs.
  bool alike = false;
};

// How often each answer of each verb was seen, by (verb, answer).
using AnswersSeen = std::map<std::pair<std::string, std::string>, std::int64_t>;

struct DifferentialReport {
  AnswersSeen seen;
  std::optional<std::string> difference;  // the first one: operation, request and both replies
};

// Both stores must be empty and run on `clock`. Stops at the first difference.
DifferentialReport run_differential(Store& oracle, Store& store, ManualClock& clock,
                                    const DifferentialOptions& options);

// One line a verb: each answer that can occur and how often it did.
std::string table_of(const AnswersSeen& seen);

// Answers that can occur and did not, and answers that nobody expected: "claim: refused was never seen".
std::vector<std::string> gaps_in(const AnswersSeen& seen);

}  // namespace fenceline::test
