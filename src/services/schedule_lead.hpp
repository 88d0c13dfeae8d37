// Who of several schedulers looks after the schedules of a namespace: a lease like any other. It only saves work: what
// makes a tick fire once is its row in the store, so a leader that was paused past its lease, or two at a time, do no
// harm.
#pragma once

#include <algorithm>
#include <string>

#include "base/log.hpp"
#include "base/time.hpp"
#include "model/schedule.hpp"
#include "model/trust.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

class ScheduleLead {
 public:
  // `window`: how long nobody leads after a leader died.
  ScheduleLead(Runtime& runtime, Log log, Store& store, std::string ns, std::string place, Duration window);

  // Asks for the lead, or renews it, if that is due.
  void keep();
  // This one acts: it leads, or has offered its lead and nobody is known to have taken it.
  bool has() const { return runtime_.now() < std::max(until_, offered_until_); }
  // Which term; 0: none.
  Fence fence() const { return fence_; }
  // When keep() has something to do.
  Instant next() const { return next_; }
  // It may be free: asked for soon, if it is not ours.
  void hint();
  // Lets go of it for a minute, so that another one may have it that can do what this one cannot, and asks for it again
  // then. Acts on meanwhile: two that lead do no harm, none would.
  void offer();
  // Gives it up, so that another one may have it at once.
  void let_go();

 private:
  void ask();
  void renew();
  void forget();
  void failed(std::string_view verb, const Error& error);

  Runtime& runtime_;
  Log log_;
  Store& store_;
  const std::string ns_;
  const std::string place_;
  const LeaseTimes times_;
  std::string owner_;  // of the request at hand; empty: there is none
  std::string request_;
  Fence fence_ = 0;  // 0: not held
  Instant until_ = Instant::min();
  Instant offered_until_ = Instant::min();
  Instant next_ = Instant::min();
  Instant asked_at_ = Instant::min();
  int tries_ = 0;      // that failed in a row
  bool told_ = false;  // that it failed
};

}  // namespace fenceline
