// How a lock is kept: when it is renewed, when its holder is told, when it is lost (L4, L5).
#include <gtest/gtest.h>

#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct LockKeeperTest : LocksInVirtualTime {
  LockOptions options{.names = {"deploy"}, .ttl = 60s};
  std::optional<Instant> told_at;
  std::optional<Instant> lost_at;

  // Holds the lock for `as_long`, or until it is told; looks when it was lost. Then releases.
  Result<void> hold(Process& process, LockClient& locks, Duration as_long) {
    Result<HeldLock> held = locks.acquire(options);
    if (!held) return std::unexpected(held.error());
    const Instant end = process.runtime.now() + as_long;
    if (!process.runtime.sleep_until(end, held->stop())) told_at = now();
    while (now() < end && held->held()) sleep(process, 100ms);
    if (held->lost()) lost_at = now();
    return held->release();
  }
};

TEST_F(LockKeeperTest, RenewsAtAThirdOfTheTtlAndReleasesAtTheEnd) {
  start(a, [&](LockClient& locks) {
    EXPECT_TRUE(hold(a, locks, 50s).has_value());
    EXPECT_EQ(locks.counts().renewals, 2);
    EXPECT_EQ(locks.counts().released, 1);
  });
  run(2min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(20s), at(40s)}));
  EXPECT_EQ(a.road.calls("release"), (std::vector{at(50s)}));
  EXPECT_TRUE(is_free("deploy"));
  EXPECT_FALSE(told_at);
}

TEST_F(LockKeeperTest, TriesThreeTimesThenTellsThenGivesUpAtTheTimesOfTheContract) {
  a.road.fate = [](const std::string& verb, int) { return verb == "renew" ? Fate::refused : Fate::fine; };
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(hold(a, locks, 10min)), Code::lost);
    EXPECT_EQ(locks.counts().renewal_failures, 3);
    EXPECT_EQ(locks.counts().lost, 1);
  });
  run(20min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(20s), at(30500ms), at(41s)}));
  EXPECT_EQ(told_at, at(44s));
  EXPECT_EQ(lost_at, at(54s));
  EXPECT_EQ(a.road.count("release"), 0) << "an abandoned lock is not released";
}

TEST_F(LockKeeperTest, AStoreThatHangsDuringARenewalDelaysNeitherTheWordNorTheEnd) {
  a.road.fate = [](const std::string& verb, int) { return verb == "renew" ? Fate::request_lost : Fate::fine; };
  start(a, [&](LockClient& locks) { EXPECT_EQ(code_of(hold(a, locks, 10min)), Code::lost); });
  run(20min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(20s), at(30500ms), at(41s)}));
  EXPECT_EQ(told_at, at(44s));
  EXPECT_EQ(lost_at, at(54s));
}

TEST_F(LockKeeperTest, OneSuccessStartsOver) {
  a.road.fate = [](const std::string& verb, int call) {
    return verb == "renew" && (call == 0 || call >= 2) ? Fate::refused : Fate::fine;
  };
  start(a, [&](LockClient& locks) { EXPECT_EQ(code_of(hold(a, locks, 10min)), Code::lost); });
  run(20min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(20s), at(30500ms), at(50500ms), at(61s), at(71500ms)}));
  EXPECT_EQ(told_at, at(74500ms));
  EXPECT_EQ(lost_at, at(84500ms));
}

// The store may have begun the new ttl at any moment between question and answer; only the first is safe.
TEST_F(LockKeeperTest, L5_ARenewalCountsFromItsQuestionHoweverLateTheAnswer) {
  a.road.fate = [&](const std::string& verb, int call) {
    a.road.reply_takes = verb == "renew" && call == 0 ? 5s : 0s;
    return verb == "renew" && call > 0 ? Fate::refused : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    sleep(a, 24999ms);
    EXPECT_EQ(trust_of(held).until(), at(54s)) << "the answer is under way";
    sleep(a, 2ms);
    EXPECT_EQ(trust_of(held).until(), at(20s + 54s));
    EXPECT_FALSE(a.runtime.sleep_until(at(10min), held.stop()));
    EXPECT_EQ(now(), at(64s));
    a.runtime.sleep_until(at(74s) - 1ms, {});
    EXPECT_TRUE(held.held());
    sleep(a, 1ms);
    EXPECT_FALSE(held.held());
    EXPECT_EQ(code_of(held.release()), Code::lost);
  });
  run(20min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(20s), at(40s), at(50500ms), at(61s)}))
      << "the tries that follow count from it too";
}

// The store did renew it, and would go on doing so: its holder has been told that it is over, and may have said so to
// others.
TEST_F(LockKeeperTest, L4_ARenewalThatIsAnsweredAfterTheEndOfTrustRevivesNothing) {
  a.road.fate = [&](const std::string& verb, int call) {
    a.road.reply_takes = verb == "renew" ? 15s : 0s;
    return verb == "renew" && call < 2 ? Fate::refused
                                       : Fate::fine;  // the third is asked after 41 s, and answered after 56 s
  };
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    a.runtime.sleep_until(at(55s), {});
    EXPECT_TRUE(held.lost());
    a.runtime.sleep_until(at(57s), {});
    EXPECT_FALSE(is_free("deploy")) << "at the store it lives until 101 s";
    for (int looks = 0; looks < 60; ++looks) {
      EXPECT_TRUE(held.lost());
      EXPECT_FALSE(held.held());
      EXPECT_EQ(held.why_lost(), "trust_ended");
      EXPECT_EQ(trust_of(held).until(), at(54s)) << "whoever runs a command for it is given no more time";
      EXPECT_EQ(code_of(held.enter()), Code::lost);
      sleep(a, 1s);
    }
    EXPECT_EQ(code_of(held.release()), Code::lost);
    EXPECT_EQ(locks.counts().renewals, 0);
    EXPECT_EQ(locks.counts().lost, 1);
  });
  run(20min);
  EXPECT_EQ(a.road.count("renew"), 3);
  EXPECT_EQ(a.road.count("release"), 0);
}

TEST_F(LockKeeperTest, ALeaseThatWasTakenOverIsLostAtTheNextRenewalAndStaysSo) {
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    const Fence fence = held.fence();
    sleep(a, 1s);
    a.runtime.pause();  // past the end of its lease
    EXPECT_FALSE(held.held()) << "trust is asked of the clock, not of a task that has not run yet";
    sleep(a, 1s);
    EXPECT_TRUE(held.lost());
    EXPECT_EQ(held.fence(), fence);
    EXPECT_TRUE(held.stop().stop_requested());
    EXPECT_EQ(code_of(held.enter()), Code::lost);
    EXPECT_EQ(code_of(held.release()), Code::lost);
    EXPECT_TRUE(held.lost());
  });
  simulation.at(at(2min), [&] { a.runtime.resume(); });
  start(b, [&](LockClient& locks) {
    sleep(b, 500ms);
    options.wait = 5min;
    HeldLock held = must(locks.acquire(options));
    EXPECT_EQ(now(), at(60s));
    EXPECT_EQ(held.grants().front().previous_owner, a.road.asked.front().owner);
    sleep(b, 5min);
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(held.release().has_value());
  });
  run(20min);
  EXPECT_EQ(a.road.count("release"), 0);
}

// Whoever wakes first after a pause, the keeper or the watch: chance picks, so it is tried several times.
TEST_F(LockKeeperTest, AfterAPauseWhatCannotBeTrustedAnyMoreIsNotRenewed) {
  start(a, [&](LockClient& locks) {
    for (int i = 0; i < 20; ++i) {
      options.names = {"lock-" + std::to_string(i)};
      HeldLock held = must(locks.acquire(options));
      sleep(a, 1s);
      simulation.after(2min, [&] { a.runtime.resume(); });
      a.runtime.pause();
      sleep(a, 1s);
      EXPECT_EQ(code_of(held.release()), Code::lost);
    }
  });
  run(2h);
  EXPECT_EQ(a.road.count("renew"), 0);
}

TEST_F(LockKeeperTest, RenewsAllLocksOfOneTtlInOneCall) {
  start(a, [&](LockClient& locks) {
    std::vector<HeldLock> held;
    for (int i = 0; i < 100; ++i) {
      options.names = {"lock-" + std::to_string(i)};
      held.push_back(must(locks.acquire(options)));
      sleep(a, 100ms);
    }
    sleep(a, 45s);
    for (HeldLock& lock : held) EXPECT_TRUE(lock.release().has_value());
  });
  run(5min);
  EXPECT_EQ(a.road.count("renew"), 2);
  EXPECT_EQ(a.road.renewed.front().locks.size(), 100u);
}

TEST_F(LockKeeperTest, ACallAboutALongLeaseThatHangsDoesNotCostAShortOne) {
  a.road.fate = [&](const std::string& verb, int) {
    return verb == "renew" && a.road.renewed.back().ttl == 1h ? Fate::request_lost : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    HeldLock long_one = must(locks.acquire({.names = {"long"}, .ttl = 1h}));
    HeldLock short_one = must(locks.acquire({.names = {"short"}, .ttl = 2s}));
    sleep(a, 50min);
    EXPECT_TRUE(short_one.held());
    EXPECT_TRUE(short_one.release().has_value());
  });
  run(70min);
  EXPECT_EQ(a.events.count("lock_lost"), 0);
}

TEST_F(LockKeeperTest, ABreakIsNoticedWithinASecond) {
  start(a, [&](LockClient& locks) { EXPECT_EQ(code_of(hold(a, locks, 10min)), Code::lost); });
  simulation.at(at(5s), [&] { break_lock("deploy"); });
  run(20min);
  ASSERT_TRUE(told_at && lost_at);
  EXPECT_LE(*told_at, at(6s));
  EXPECT_LE(*lost_at, at(6s));
  EXPECT_EQ(a.events.text("lock_lost", "why"), "superseded");
  EXPECT_EQ(a.road.count("renew"), 0) << "a look is enough, and moves no renewal";
}

TEST_F(LockKeeperTest, ABreakBeforeAnybodyListenedIsNoticedToo) {
  start(a, [&](LockClient& locks) { EXPECT_EQ(code_of(hold(a, locks, 10min)), Code::lost); });
  simulation.at(at(10ms), [&] { break_lock("deploy"); });
  run(20min);
  ASSERT_TRUE(told_at);
  EXPECT_LE(*told_at, at(1s));
}

TEST_F(LockKeeperTest, HintsThatTellOfNothingMoveNoRenewal) {
  start(a, [&](LockClient& locks) { EXPECT_TRUE(hold(a, locks, 50s).has_value()); });
  start(b, [&](LockClient& locks) {
    sleep(b, 500ms);
    options.wait = 1s;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(code_of(locks.acquire(options)), Code::held);
  });
  run(2min);
  EXPECT_EQ(a.road.calls("renew"), (std::vector{at(20s), at(40s)}));
}

TEST_F(LockKeeperTest, AClassThatFailsOpenGoesOnWithoutTheStoreUntilTheStoreSaysNo) {
  bool away = false;
  a.road.fate = [&](const std::string&, int) { return away ? Fate::refused : Fate::fine; };
  options.on_renewal_error = OnStoreError::open;
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    std::vector<Instant> ends;
    trust_of(held).listen([&](Instant end) { ends.push_back(end); });
    sleep(a, 25s);  // renewed once
    away = true;
    sleep(a, 5min);
    for (const Instant end : ends) EXPECT_GT(end, at(24h)) << "whoever runs a command for it never plans its end";
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(held.failed_open());
    EXPECT_FALSE(held.stop().stop_requested());
    EXPECT_EQ(locks.counts().fail_open, 1);
    EXPECT_EQ(locks.counts().lost, 0);
    away = false;
    sleep(a, 30s);
    EXPECT_TRUE(held.lost()) << "the lease ran out meanwhile, and the store says so";
    EXPECT_TRUE(held.stop().stop_requested());
    EXPECT_LE(trust_of(held).until(), now()) << "now it is cut";
    trust_of(held).unlisten();
    EXPECT_EQ(code_of(held.release()), Code::lost);
  });
  run(20min);
  EXPECT_EQ(a.events.count("lock_failed_open"), 1);
}

TEST_F(LockKeeperTest, AHandleThatIsDroppedIsNotRenewedAndNotReleased) {
  start(a, [&](LockClient& locks) {
    { const HeldLock dropped = must(locks.acquire(options)); }
    EXPECT_EQ(locks.counts().abandoned, 1);
    options.wait = 5min;
    HeldLock next = must(locks.acquire(options));  // of the same process
    EXPECT_EQ(now(), at(60s));
    EXPECT_TRUE(next.release().has_value());
  });
  run(10min);
  EXPECT_EQ(a.road.count("renew"), 0);
  EXPECT_EQ(a.road.count("release"), 1);
}

}  // namespace
}  // namespace fenceline::test
