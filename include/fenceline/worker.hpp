// What a worker is asked for, and what it did: see Client::work in fenceline/fenceline.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fenceline/time.hpp"

namespace fenceline {

inline constexpr int kConcurrencyMax = 500;

struct WorkOptions {
  std::vector<std::string> queues;  // served in this order
  std::string stage = {};           // of a pipeline, by its name; empty: its first one, or jobs without a stage
  int concurrency = 0;              // 0: what the stage says, else the number of cores; at most kConcurrencyMax
  Duration ttl{0};  // of a lease, renewed while its handler runs: 1 s to 24 h; 0: what the stage says, else 30 s
  Duration drain_grace = std::chrono::seconds{30};  // at a stop, running handlers get this long before they are told
  bool drain = false;        // end when no job of these queues is running, on any worker, or could be claimed now
  bool strict = false;       // end this process if a handler works on without its lease
  bool schedules = true;     // fire the ticks of schedules, in turn with the other workers of the namespace
  std::string history = {};  // a file for this call alone, instead of that of the client; empty: that of the client
};

// What a worker counted; nothing is decided by it.
struct WorkReport {
  std::int64_t claimed = 0;
  std::int64_t takeovers = 0;  // of those, jobs whose earlier lease had run out
  std::int64_t done = 0;
  std::int64_t failed = 0;  // failed and dead
  std::int64_t later = 0;
  std::int64_t given_back = 0;
  std::int64_t refused = 0;  // late writes of this worker that the store refused
  std::int64_t lost = 0;     // leases that it had to give up
  std::int64_t revoked = 0;  // deliveries that an operator ended: cancelled, or retried
  std::int64_t held = 0;     // deliveries that ended with an effect in doubt: their jobs wait
  std::int64_t ahead = 0;    // at the end of a drain: jobs whose time lies ahead
  std::int64_t blocked = 0;  // and jobs that wait for their group, a limit or a pause
};

}  // namespace fenceline
