// What happened in a run, counted. A run in which something never happens proves nothing about it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fenceline::sim {

enum class Count {
  // what the system did
  operations,  // calls that reached the store
  enqueued,
  claimed,
  takeovers,   // grants of a job whose lease had run out
  refusals,    // late writes that the store refused
  losses,      // deliveries that ended by expiry
  settled,
  given_back,
  died_of_losses,
  ran_alone,   // handlers of jobs that must run alone
  // faults
  lost_requests,
  refused_requests,
  lost_replies,
  late_requests,  // applied after their caller had given up
  duplicates,
  lost_wakeups,
  kills,
  poisoned,       // kills by a handler of its own process
  pauses,
  suspends,       // of a whole machine
  twins,          // restarts while the old incarnation is only paused
  terminations,   // graceful stops
  wall_jumps,
  count_,
};

std::string_view to_string(Count what);

class Tally {
 public:
  void add(Count what, std::int64_t by = 1) { counts_[static_cast<std::size_t>(what)] += by; }
  std::int64_t of(Count what) const { return counts_[static_cast<std::size_t>(what)]; }
  std::int64_t faults() const;
  Tally& operator+=(const Tally& other);

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Count::count_)> counts_{};
};

}  // namespace fenceline::sim
