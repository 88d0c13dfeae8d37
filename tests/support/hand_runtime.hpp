// A runtime without concurrency on a clock that a test moves by hand: time passes while somebody sleeps, and else by
// hand.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "runtime/runtime.hpp"
#include "support/manual_clock.hpp"

namespace fenceline::test {

class HandRuntime final : public Runtime {
 public:
  explicit HandRuntime(ManualClock& clock) : clock_(clock) {}
  Instant now() const override { return clock_.now(); }
  WallTime wall_now() const override { return clock_.wall_now(); }
  std::string boot_id() const override { return clock_.boot_id(); }
  std::uint64_t random() override { return ++random_; }
  bool sleep_until(Instant when, std::stop_token) override {
    clock_.advance(std::max(Duration{0}, when - clock_.now()));
    if (while_sleeping) while_sleeping();
    return true;
  }
  Task spawn(std::string, std::function<void(std::stop_token)>) override { return {}; }
  std::unique_ptr<Event> make_event() override { return nullptr; }

  std::function<void()> while_sleeping = {};  // what others do meanwhile

 private:
  ManualClock& clock_;
  std::uint64_t random_ = 0;
};

}  // namespace fenceline::test
