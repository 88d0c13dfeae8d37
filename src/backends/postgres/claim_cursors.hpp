// How far claims have come in each queue, so that the next one need not step over the remains of all that was claimed
// before. Hints: a look from the beginning, made often enough, finds what came in behind them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "store/job_store.hpp"

namespace fenceline::postgres {

struct ClaimCursor {
  std::int32_t queue = 0;  // index in the request, from 1
  std::int16_t rank = 0;
  std::int64_t run_at = 0;
  std::int64_t seq = 0;

  bool operator==(const ClaimCursor&) const = default;
};

class ClaimCursors {
 public:
  // Empty: look from the beginning.
  std::vector<ClaimCursor> for_claim(const ClaimRequest& request, Instant now) const;

  // What was granted of jobs that were ready, in any order, by a claim that was sent then.
  void learn(const ClaimRequest& request, bool rescanned, bool came_short, const std::vector<ClaimCursor>& granted,
             Instant sent, Instant answered);

 private:
  struct Place {
    std::map<std::int16_t, std::pair<std::int64_t, std::int64_t>> by_rank;  // (run_at, seq)
    Instant looked{};                                                       // from the beginning, the last time
    Duration took{};
    bool came_short = false;  // the last claim: something may have come in behind the cursors
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // namespace, stage, queue

  mutable std::mutex mutex_;
  std::map<Key, Place> places_;
};

}  // namespace fenceline::postgres
