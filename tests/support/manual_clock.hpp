// A clock that a test moves by hand.
#pragma once

#include <atomic>

#include "runtime/clock.hpp"

namespace fenceline::test {

class ManualClock final : public Clock {
 public:
  Instant now() const override { return Instant{Duration{now_.load()}}; }
  WallTime wall_now() const override { return WallTime{Duration{wall_.load()}}; }
  std::string boot_id() const override { return boot_id_; }

  // Time passes: both clocks go on.
  void advance(Duration by) {
    now_ += by.count();
    wall_ += by.count();
  }
  // Someone sets the wall clock; leases do not notice.
  void set_wall(WallTime to) { wall_ = to.time_since_epoch().count(); }
  // Someone sets a server's clock: leases run on it too.
  void set_server_clock(Duration by) { advance(by); }
  void reboot(std::string boot_id) {
    boot_id_ = std::move(boot_id);
    now_ = 1'000'000;
  }

 private:
  std::atomic<std::int64_t> now_{3'600'000'000};
  std::atomic<std::int64_t> wall_{1'700'000'000'000'000};
  std::string boot_id_ = "boot-1";
};

}  // namespace fenceline::test
