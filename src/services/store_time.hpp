// What the store's wall clock shows, as its answers tell: schedules know no clock of this process but the one that
// never jumps.
#pragma once

#include <algorithm>
#include <limits>

#include "base/time.hpp"

namespace fenceline {

class StoreTime {
 public:
  // A question asked and answered at these moments was told `now`. True if the store's clock stands more than a second
  // before where it should: it was set back.
  bool heard(Instant asked, Instant answered, WallTime now) {
    const Duration least = now.time_since_epoch() - answered.time_since_epoch();
    const Duration most = now.time_since_epoch() - asked.time_since_epoch();
    const bool first = !known();
    const Duration worn = first ? Duration{0} : (answered - heard_at_) / kDriftShare;
    const bool set_back = !first && most + std::chrono::seconds{1} < least_ - worn;
    const bool agrees = !first && least <= most_ + worn && most >= least_ - worn;
    least_ = agrees ? std::max(least, least_ - worn) : least;
    most_ = agrees ? std::min(most, most_ + worn) : most;
    heard_at_ = answered;
    return set_back;
  }

  // What was believed before is worth nothing: the store said that we came too early.
  void forget() { heard_at_ = kNever; }

  bool known() const { return heard_at_ != kNever; }

  // The store's clock shows this or later.
  WallTime earliest_at(Instant when) const { return WallTime{when.time_since_epoch() + least_}; }
  // From then on the store's clock shows this or later.
  Instant reached_at(WallTime shows) const { return Instant{shows.time_since_epoch() - least_}; }

 private:
  static constexpr Instant kNever = Instant::min();
  static constexpr int kDriftShare = 5000;  // two good clocks go apart by less than 200 millionths

  // The store's clock less ours: at least, and at most.
  Duration least_{};
  Duration most_{};
  Instant heard_at_ = kNever;
};

}  // namespace fenceline
