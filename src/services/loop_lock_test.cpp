// The loop pattern: one sweep in each window, whoever does it (L6).
#include "fenceline/loop_lock.hpp"

#include <gtest/gtest.h>

#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct LoopLockTest : LocksInVirtualTime {
  LockOptions options = lock_preset("loop").value();
  std::vector<std::pair<std::string, Instant>> sweeps;

  LoopLockTest() { options.names = {"sweep"}; }

  void replica(Process& process, Duration comes_after, Duration takes) {
    start(process, [this, &process, comes_after, takes](LockClient& locks, std::stop_token stop) {
      if (!process.runtime.sleep_for(comes_after, stop)) return;
      LoopLock loop(locks, options);
      EXPECT_TRUE(loop.run(
          [&](const HeldLock& held) {
            sweeps.emplace_back(process.place, now());
            process.runtime.sleep_for(takes, held.stop());
          },
          stop));
    });
  }
};

TEST_F(LoopLockTest, OneReplicaSweepsInEachWindowThoughTheSweepIsShort) {
  replica(a, 0s, 1s);
  replica(b, 1s, 1s);
  replica(c, 2s, 1s);
  for (Process* process : {&a, &b, &c}) simulation.at(at(10min), [process] { process->runtime.terminate(); });
  run(11min);
  ASSERT_GE(sweeps.size(), 8u);
  EXPECT_LE(sweeps.size(), 11u);
  for (std::size_t i = 1; i < sweeps.size(); ++i) EXPECT_GE(sweeps[i].second - sweeps[i - 1].second, 60s);
  for (Process* process : {&a, &b, &c}) {
    EXPECT_EQ(process->road.count("renew"), 0);
    EXPECT_EQ(process->road.count("release"), 0);
    EXPECT_EQ(process->road.count("withdraw"), 0);
  }
}

TEST_F(LoopLockTest, AfterADeathTheNextSweepComesWhenTheWindowIsOver) {
  replica(a, 0s, 50s);
  replica(b, 10s, 1s);
  simulation.at(at(5s), [&] { a.runtime.kill(); });
  simulation.at(at(5min), [&] { b.runtime.terminate(); });
  run(6min);
  ASSERT_GE(sweeps.size(), 2u);
  EXPECT_EQ(sweeps[0].first, "a");
  EXPECT_EQ(sweeps[1], (std::pair{std::string("b"), at(70s)}))
      << "the window is over at 60 s; b tries at 10, 40 and 70 s";
}

TEST_F(LoopLockTest, ASweepIsToldToStopBeforeItsWindowEnds) {
  start(a, [&](LockClient& locks) {
    LoopLock loop(locks, options);
    EXPECT_TRUE(must(loop.run_once([&](const HeldLock& held) {
      EXPECT_FALSE(a.runtime.sleep_for(1h, held.stop()));
      EXPECT_EQ(now(), at(44s));
      EXPECT_TRUE(held.held());
    })));
    EXPECT_FALSE(must(loop.run_once([](const HeldLock&) { FAIL() << "its own owner is kept out too"; })));
    sleep(a, 20s);
    EXPECT_EQ(code_of(loop.run_once([&](const HeldLock& held) {
                sleep(a, 1min);
                EXPECT_TRUE(held.lost());
              })),
              Code::lost);
  });
  run(10min);
  EXPECT_EQ(a.events.text("lock_lost", "why"), "window_over");
}

TEST_F(LoopLockTest, AStoreThatIsAwayCostsATurnAndNoMore) {
  a.road.fate = [&](const std::string&, int) { return now() < at(45s) ? Fate::refused : Fate::fine; };
  replica(a, 0s, 1s);
  simulation.at(at(3min), [&] { a.runtime.terminate(); });
  run(4min);
  ASSERT_GE(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].second, at(60s));
  EXPECT_EQ(a.events.count("loop_skipped") >= 2, true);
}

Duration longest_gap(const std::vector<std::pair<std::string, Instant>>& sweeps) {
  Duration longest{0};
  for (std::size_t i = 1; i < sweeps.size(); ++i)
    longest = std::max(longest, Duration{sweeps[i].second - sweeps[i - 1].second});
  return longest;
}

// A window ends by the clock, and nobody is told: whoever tries next has it.
TEST_F(LoopLockTest, NoWakeUpIsNeededForTheNextWindow) {
  options.ttl = 3s;
  options.every = Duration{0};  // half a window
  a.road.reply_takes = b.road.reply_takes = 900ms;
  replica(a, 0s, 100ms);
  replica(b, 200ms, 100ms);
  for (Process* process : {&a, &b}) simulation.at(at(2min), [process] { process->runtime.terminate(); });
  run(3min);
  ASSERT_GE(sweeps.size(), 20u);
  EXPECT_LE(longest_gap(sweeps), 6s);
}

// What made a gap of several windows: a store so slow that each grant comes when there is no time left to work under
// it. Such a window is lost (L6), and is told and counted.
TEST_F(LoopLockTest, EachGrantThatComesTooLateCostsAWindowAndIsTold) {
  options.ttl = 3s;
  options.every = Duration{0};
  replica(a, 0s, 100ms);
  simulation.at(at(9s), [&] { a.road.reply_takes = 2500ms; });
  simulation.at(at(20s), [&] { a.road.reply_takes = Duration{0}; });
  simulation.at(at(1min), [&] { a.runtime.terminate(); });
  run(2min);
  EXPECT_GE(longest_gap(sweeps), 12s);
  EXPECT_LE(longest_gap(sweeps), 18s);
  EXPECT_GE(a.events.count("lock_granted_too_late"), 2);
}

}  // namespace
}  // namespace fenceline::test
