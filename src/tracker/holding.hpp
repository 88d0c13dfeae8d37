// What a TrackerWorker keeps about one item: as it was read, and while it is worked on. Included by the sources of
// TrackerWorker alone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "base/duration_text.hpp"
#include "tracker/tracker_worker.hpp"

namespace fenceline::tracker {

inline constexpr int kDeniedMost = 3;                            // in a row,
inline constexpr Duration kDeniedFor = std::chrono::minutes{1};  // and for as long: trackers refuse good tokens briefly

struct TrackerWorker::Looked {
  Item item;
  Ledger ledger;
  Served served;
};

struct TrackerWorker::Holding {
  Holding(ItemState its_state, Claim its_claim, const PlaceWork& its_work, Instant trusted, Instant asked_at)
      : state(std::move(its_state)),
        posted(its_claim),
        claim(std::move(its_claim)),
        work(its_work),
        trust(trusted),
        renewed_at(asked_at) {}

  ItemState state;
  const Claim posted;
  Claim claim;  // as last renewed
  const PlaceWork& work;
  Job job;
  Duration timeout{0};
  TrustDeadline trust;
  Instant renewed_at;  // when it was asked for last, or renewed
  // Renewals whose outcome is unknown: one that arrives after a later one takes the claim back to its own time.
  struct Doubt {
    WallTime said{};
    Instant sent{};
  };
  std::vector<Doubt> doubts;
  std::stop_source stop;
  std::string stopped_by;  // why people stopped the work; empty: they did not. Guarded by the worker's mutex
  std::atomic<bool> finished = false;
  Task task;
};

template <class Call>
auto TrackerWorker::asking(Call call) -> decltype(call()) {
  const Instant asked = runtime_.now();
  auto answer = call();
  const Served& served = answer ? answer->served : answer.error().served;
  if (answer) {
    denied_ = 0;
  } else if (answer.error().kind == TroubleKind::denied) {
    if (denied_ == 0) denied_since_ = asked;
    if (++denied_ == 1) wake_->notify();
  }
  if (served.now != WallTime{}) {
    const std::scoped_lock lock(mutex_);
    moment_ = {served.now, asked, runtime_.now()};
  }
  return answer;
}

template <class Change>
void TrackerWorker::count(Change change) {
  const std::scoped_lock lock(mutex_);
  change(counts_);
}

}  // namespace fenceline::tracker
