// The real Runtime: threads, the operating system's clocks and its chance. Deadlines are on a clock that goes on
// in suspend, while the waits of a thread stand still in it: every wait is cut into slices, so that a deadline
// that passed in suspend is seen within kWaitSlice of waking up.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "runtime/boot_clock.hpp"
#include "runtime/runtime.hpp"

namespace fenceline {

inline constexpr Duration kWaitSlice = std::chrono::seconds{1};

// Safe to use from several threads. Must outlive its tasks and events.
class ThreadRuntime final : public Runtime {
 public:
  Instant now() const override { return clock_.now(); }
  WallTime wall_now() const override { return clock_.wall_now(); }
  std::string boot_id() const override { return clock_.boot_id(); }
  std::uint64_t random() override;
  bool sleep_until(Instant when, std::stop_token stop) override;
  // What the body throws ends the process.
  Task spawn(std::string name, std::function<void(std::stop_token)> body) override;
  std::unique_ptr<Event> make_event() override;

 private:
  BootClock clock_;
};

}  // namespace fenceline
