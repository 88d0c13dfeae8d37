// A job that must not run twice at a time, run by the schedulers of several replicas. The three timelines are those of
// the class: ttl 10 min, renewal after 3 min, soft timeout 5 min.
#include "fenceline/singleton.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct SingletonTest : LocksInVirtualTime {
  const SingletonOptions options{.name = "report", .every = 1min};
  std::vector<std::pair<std::string, Instant>> began;

  // A replica that is called at once, and then every minute; its job takes so long.
  void replica(Process& process, Duration first_call, Duration takes) {
    start(process, [this, &process, first_call, takes](LockClient& locks, std::stop_token stop) {
      if (!process.runtime.sleep_for(first_call, stop)) return;
      Singleton singleton(locks, options);
      EXPECT_TRUE(singleton.run_every(
          [&](const SingletonRun& run) {
            began.emplace_back(process.place, now());
            process.runtime.sleep_for(takes, run.stop);
          },
          stop));
    });
  }
};

TEST_F(SingletonTest, OneThatEndsAfterFiveMinutesIsRenewedOnceAndFree) {
  replica(a, 0s, 5min);
  simulation.at(at(5min + 1s), [&] {
    EXPECT_TRUE(is_free("report"));
    a.runtime.terminate();
  });
  run(6min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(3min)}));
  EXPECT_EQ(a.road.calls("release").at(0), at(5min));
}

TEST_F(SingletonTest, OneThatEndsAfterEightMinutesIsRenewedTwiceAndWarnedOfAtFive) {
  std::optional<Instant> warned_at;
  replica(a, 0s, 8min);
  for (Duration when = 1s; when < 8min; when += 1s) {
    simulation.at(at(when), [&] {
      if (!warned_at && a.events.count("singleton_slow") > 0) warned_at = now();
    });
  }
  simulation.at(at(8min + 1s), [&] { a.runtime.terminate(); });
  run(9min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(3min), at(6min)}));
  EXPECT_EQ(a.road.calls("release").at(0), at(8min));
  ASSERT_TRUE(warned_at);
  EXPECT_LE(*warned_at, at(5min + 1s));
  EXPECT_GE(*warned_at, at(5min));
}

TEST_F(SingletonTest, WhenTheOwnerDiesAtThreeMinutesAnotherRunsAtTen) {
  replica(a, 0s, 1h);
  replica(b, 1min, 1min);
  simulation.at(at(3min) - 1ms, [&] { a.runtime.kill(); });
  simulation.at(at(12min), [&] { b.runtime.terminate(); });
  run(13min);
  ASSERT_GE(began.size(), 2u);
  EXPECT_EQ(began[0], (std::pair{std::string("a"), at(0s)}));
  EXPECT_EQ(began[1], (std::pair{std::string("b"), at(10min)}));
  EXPECT_EQ(b.events.last("singleton_skipped").level, Level::debug);
}

TEST_F(SingletonTest, AStopThatCancelsTheJobStillFreesTheLock) {
  replica(a, 0s, 1h);
  a.road.fate = [](const std::string& verb, int call) {
    return verb == "release" && call == 0 ? Fate::request_lost : Fate::fine;
  };
  simulation.at(at(1min), [&] { a.runtime.terminate(); });
  run(2min);
  EXPECT_FALSE(a.runtime.alive());
  EXPECT_EQ(a.road.count("release"), 2) << "a release that was not answered is repeated, though we stop";
  EXPECT_TRUE(is_free("report"));
}

TEST_F(SingletonTest, AStoreThatIsAwaySkipsTheRunAndSaysWhenTheNextTryIs) {
  a.road.fate = [](const std::string&, int) { return Fate::refused; };
  start(a, [&](LockClient& locks) {
    Singleton singleton(locks, options);
    EXPECT_EQ(must(singleton.run([](const SingletonRun&) { FAIL(); })), SingletonEnd::skipped_failed);
    EXPECT_EQ(locks.counts().skipped_failed, 1);
    EXPECT_EQ(locks.counts().fail_open, 0);
  });
  run(1min);
  EXPECT_EQ(a.events.last("singleton_skipped").level, Level::warn);
  EXPECT_EQ(a.events.text("singleton_skipped", "next_try").substr(10), "T00:01:00Z");
}

TEST_F(SingletonTest, AHardTimeoutTellsTheJobToStop) {
  start(a, [&](LockClient& locks) {
    SingletonOptions hard = options;
    hard.hard_timeout = 6min;
    EXPECT_EQ(must(Singleton(locks, hard).run([&](const SingletonRun& run) {
                EXPECT_FALSE(a.runtime.sleep_for(1h, run.stop));
              })),
              SingletonEnd::ran);
    EXPECT_EQ(now(), at(6min));
    EXPECT_EQ(locks.counts().soft_timeouts, 1);
  });
  run(10min);
  EXPECT_EQ(a.events.count("singleton_timed_out"), 1);
  EXPECT_TRUE(is_free("report"));
}

TEST_F(SingletonTest, OneThatLosesItsLockSaysSo) {
  start(a, [&](LockClient& locks) {
    Singleton singleton(locks, options);
    const auto job = [&](const SingletonRun& run) {
      simulation.after(1min, [&] { break_lock("report"); });
      EXPECT_FALSE(a.runtime.sleep_for(1h, run.stop));
    };
    EXPECT_EQ(must(singleton.run(job)), SingletonEnd::lost);
    EXPECT_LE(now(), at(61s));
    EXPECT_THROW((void)singleton.run([](const SingletonRun&) { throw std::runtime_error("no"); }), std::runtime_error);
  });
  run(10min);
}

}  // namespace
}  // namespace fenceline::test
