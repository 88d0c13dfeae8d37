#include "runtime/watched_runtime.hpp"

#include <gtest/gtest.h>

#include <latch>

#include "runtime/thread_runtime.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSlice = 5ms;
constexpr Duration kPatience = 500ms;  // more than a slice takes; a busy machine may be late once, so that who turns is
                                       // looked at until it was seen to
constexpr Duration kWatchedSoon = 30s;  // a test that gets here has failed

// Looks again and again until it holds, on a clock that is not the watched one.
template <class Holds>
bool soon(Runtime& runtime, Holds holds) {
  for (const Instant until = runtime.now() + kWatchedSoon; runtime.now() < until; runtime.sleep_for(5ms, {})) {
    if (holds()) return true;
  }
  return false;
}

TEST(WatchedRuntime, AThreadInACallThatDoesNotReturnHangsUntilItReturns) {
  ThreadRuntime real;
  WatchedRuntime watched(real, kSlice);
  const WatchedRuntime::Away away;  // this thread looks by the clock beside
  std::latch returned(1);
  const std::unique_ptr<Event> never = watched.make_event();
  Task task = watched.spawn("fetch", [&](std::stop_token stop) {
    returned.wait();  // no seam: as in a call of a library that hangs
    const std::stop_callback wake(stop, [&] { never->notify(); });
    never->wait_until(watched.now() + 1h);
  });
  EXPECT_TRUE(soon(real, [&] { return watched.hanging(kPatience) == "fetch"; }));
  returned.count_down();
  EXPECT_TRUE(soon(real, [&] { return !watched.hanging(kPatience); }));
}

TEST(WatchedRuntime, AThreadThatWaitsForLongTurns) {
  ThreadRuntime real;
  WatchedRuntime watched(real, kSlice);
  const WatchedRuntime::Away away;
  const std::unique_ptr<Event> never = watched.make_event();
  Task waits = watched.spawn("waits", [&](std::stop_token stop) {
    const std::stop_callback wake(stop, [&] { never->notify(); });
    EXPECT_TRUE(never->wait_until(watched.now() + 1h));
  });
  Task sleeps = watched.spawn("sleeps", [&](std::stop_token stop) { EXPECT_FALSE(watched.sleep_for(1h, stop)); });
  real.sleep_for(2 * kPatience, {});
  EXPECT_TRUE(soon(real, [&] { return !watched.hanging(kPatience); }));
}

TEST(WatchedRuntime, AThreadThatIsAwayOnPurposeOrWaitsForAnEndDoesNotHang) {
  ThreadRuntime real;
  WatchedRuntime watched(real, kSlice);
  const WatchedRuntime::Away away;
  std::latch began(2), over(1);
  Task handler = watched.spawn("slot-0", [&](std::stop_token) {
    const WatchedRuntime::Away run;
    began.count_down();
    over.wait();
  });
  Task joins = watched.spawn("joins", [&](std::stop_token) {
    began.count_down();
    handler.join();
  });
  began.wait();
  real.sleep_for(2 * kPatience, {});
  EXPECT_TRUE(soon(real, [&] { return !watched.hanging(kPatience); }));
  over.count_down();
}

TEST(WatchedRuntime, TheThreadThatMadeItIsWatchedAndOneThatEndedIsForgotten) {
  ThreadRuntime real;
  WatchedRuntime watched(real, kSlice);
  Task ended = watched.spawn("ended", [](std::stop_token) {});
  ended.join();
  real.sleep_for(2 * kPatience, {});  // not a call of the watched one: this thread gives no sign of life
  EXPECT_EQ(watched.hanging(kPatience), "main");
  EXPECT_TRUE(soon(real, [&] { return watched.now(), !watched.hanging(kPatience); }));
}

TEST(WatchedRuntime, WaitsEndWhenTheyAreToldAndNotBefore) {
  ThreadRuntime real;
  WatchedRuntime watched(real, kSlice);
  const std::unique_ptr<Event> event = watched.make_event();
  const Instant until = watched.now() + 4 * kSlice;
  EXPECT_FALSE(event->wait_until(until));
  EXPECT_GE(real.now(), until);
  EXPECT_TRUE(watched.sleep_until(until + 2 * kSlice, {}));
  EXPECT_GE(real.now(), until + 2 * kSlice);
  event->notify();
  EXPECT_TRUE(event->wait_until(Instant::max()));
}

}  // namespace
}  // namespace fenceline
