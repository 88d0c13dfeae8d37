// How a lock is asked for, waited for and given back.
#include "services/lock_client.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct LockClientTest : LocksInVirtualTime {
  LockOptions options{.names = {"deploy"}, .ttl = 60s};
  LockOptions waiting{.names = {"deploy"}, .ttl = 60s, .wait = 1h};

  // Some other process has it for so long.
  void held_by_another(Duration as_long) {
    start(b, [this, as_long](LockClient& locks) {
      HeldLock held = must(locks.acquire(options));
      sleep(b, as_long);
      must(held.release());
    });
    run(1ms);
  }
};

TEST_F(LockClientTest, AGrantHasAFenceAndTheNextOneALargerOne) {
  start(a, [&](LockClient& locks) {
    HeldLock first = must(locks.acquire(options));
    EXPECT_GT(first.fence(), 0);
    EXPECT_EQ(first.resource(), "deploy");
    EXPECT_TRUE(first.held());
    must(first.release());
    EXPECT_FALSE(first.held());
    EXPECT_TRUE(first.release().has_value()) << "again: nothing";
    HeldLock second = must(locks.acquire(options));
    EXPECT_GT(second.fence(), first.fence());
    EXPECT_NE(second.owner(), first.owner());
    must(second.release());
  });
  run(1min);
  EXPECT_EQ(a.road.count("release"), 2);
}

TEST_F(LockClientTest, WithHoldsTheLockWhileTheBodyRunsAndFreesItAfter) {
  start(a, [&](LockClient& locks) {
    EXPECT_TRUE(locks.with(options, [&](const HeldLock& held) {
      EXPECT_EQ(row("deploy")->fence, held.fence());
      EXPECT_FALSE(is_free("deploy"));
    }));
    EXPECT_TRUE(is_free("deploy"));
    EXPECT_THROW((void)locks.with(options, [](const HeldLock&) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_TRUE(is_free("deploy")) << "also when the body throws";
  });
  run(1min);
}

TEST_F(LockClientTest, WithSaysSoIfTheLockWasLostOnTheWay) {
  start(a, [&](LockClient& locks) {
    const Result<void> ran = locks.with(options, [&](const HeldLock& held) {
      break_lock("deploy");
      EXPECT_FALSE(a.runtime.sleep_for(10s, held.stop()));
    });
    EXPECT_EQ(code_of(ran), Code::lost);
  });
  run(1min);
}

TEST_F(LockClientTest, AStopOfTheCallerReachesTheBodyAndTheLockIsFreed) {
  start(a, [&](LockClient& locks, std::stop_token stop) {
    EXPECT_TRUE(locks.with(
        options, [&](const HeldLock& held) { EXPECT_FALSE(a.runtime.sleep_for(30s, held.stop())); }, stop));
    EXPECT_EQ(now(), at(5s));
  });
  simulation.at(at(5s), [&] { a.runtime.terminate(); });
  run(1min);
  EXPECT_TRUE(is_free("deploy"));
}

TEST_F(LockClientTest, WithoutAWaitATakenLockIsRefusedAtOnceAndItsHolderNamed) {
  held_by_another(30s);
  start(a, [&](LockClient& locks) {
    const Result<HeldLock> held = locks.acquire(options);
    ASSERT_EQ(code_of(held), Code::held);
    EXPECT_NE(held.error().message.find("lock deploy is held by b, fence "), std::string::npos) << held.error().message;
    EXPECT_LE(now(), at(2ms));
    EXPECT_EQ(locks.counts().not_obtained, 1);
  });
  run(1min);
  EXPECT_EQ(a.road.count("acquire"), 1);
  EXPECT_EQ(a.road.count("withdraw"), 0) << "it had no place in the queue";
}

TEST_F(LockClientTest, AWaiterIsWokenWhenTheLockIsReleased) {
  held_by_another(8s);
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(waiting));
    EXPECT_LE(now(), at(8s + 5ms));
    EXPECT_EQ(locks.counts().waited, 1);
    must(held.release());
  });
  run(1min);
  EXPECT_LE(a.road.count("acquire"), 3);
}

TEST_F(LockClientTest, AReleaseWhileTheAnswerIsUnderWayIsNotMissed) {
  a.road.reply_takes = 700ms;
  held_by_another(1s);  // the second question is asked at 0.7 s, and its answer, that it is held, comes at 1.4 s
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(waiting));
    EXPECT_LE(now(), at(2200ms));
    must(held.release());
  });
  run(1min);
}

TEST_F(LockClientTest, AReleaseUnderWayIsNotMissedByOneThatWaitedThereBefore) {
  start(b, [&](LockClient& locks) {
    for (int i = 0; i < 2; ++i) {
      HeldLock held = must(locks.acquire(waiting));
      sleep(b, 1s);
      must(held.release());
      sleep(b, 10s);
    }
  });
  start(a, [&](LockClient& locks) {
    sleep(a, 100ms);
    must(must(locks.acquire(waiting)).release());  // from here on the name is watched
    EXPECT_LE(now(), at(1100ms));
    a.runtime.sleep_until(at(11500ms), {});
    a.road.reply_takes = 700ms;  // b releases at 12 s, before the answer is here
    HeldLock held = must(locks.acquire(waiting));
    EXPECT_LE(now(), at(13s));
    must(held.release());
  });
  run(1min);
}

TEST_F(LockClientTest, OneThatIsAskedToStopBeforeItAsksAsksNothing) {
  start(a, [&](LockClient& locks) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(code_of(locks.acquire(options, stop.get_token())), Code::held);
  });
  run(1min);
  EXPECT_EQ(a.road.count("acquire"), 0);
}

TEST_F(LockClientTest, AnIdleWaiterCostsNoRequestInFiveSeconds) {
  held_by_another(10min);
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}, .ttl = 60s, .wait = 9s})), Code::held);
  });
  run(20min);
  EXPECT_EQ(a.road.count_between("acquire", at(100ms), at(9s)), 0);
}

TEST_F(LockClientTest, AWaiterKeepsItsPlaceByAskingAgainEveryTenSeconds) {
  held_by_another(2min);
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(waiting));
    sleep(a, 1s);
    must(held.release());
  });
  start(c, [&](LockClient& locks) {
    sleep(c, 1s);
    HeldLock held = must(locks.acquire(waiting));
    sleep(c, 1s);
    must(held.release());
  });
  simulation.at(at(110s), [&] { EXPECT_EQ(waiters("deploy"), 2); });
  run(10min);
  EXPECT_LE(a.road.count("acquire"), 16);
  EXPECT_LT(a.road.calls("release").at(0), c.road.calls("release").at(0));
}

TEST_F(LockClientTest, AWaitEndsWhenItsTimeIsOverAndLeavesNoPlaceBehind) {
  held_by_another(10min);
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}, .ttl = 60s, .wait = 3s})), Code::held);
    EXPECT_EQ(now(), at(3s + 1ms));
  });
  run(3s);
  EXPECT_EQ(waiters("deploy"), 1);
  run(4s);
  EXPECT_EQ(waiters("deploy"), 0);
  run(20min);
}

TEST_F(LockClientTest, AStopEndsAWaitAtOnceAndLeavesNoPlaceBehind) {
  held_by_another(10min);
  start(a, [&](LockClient& locks, std::stop_token stop) {
    EXPECT_EQ(code_of(locks.acquire(waiting, stop)), Code::held);
    EXPECT_EQ(now(), at(4s));
  });
  simulation.at(at(4s), [&] { a.runtime.terminate(); });
  run(5s);
  EXPECT_EQ(waiters("deploy"), 0);
  run(20min);
}

TEST_F(LockClientTest, OneThatRetriesTakesNoPlaceAndComesBackAfterPauses) {
  held_by_another(20s);
  waiting.contention = Contention::retry;
  start(a, [&](LockClient& locks) {
    must(must(locks.acquire(waiting)).release());
    EXPECT_LE(now(), at(23s));
  });
  run(10s);
  EXPECT_EQ(waiters("deploy"), 0);
  run(1min);
  EXPECT_GT(a.road.count("acquire"), 8);
  EXPECT_LT(a.road.count("acquire"), 40);
}

TEST_F(LockClientTest, ALostReplyIsAskedForAgainUnderTheSameRequest) {
  a.road.fate = [](const std::string& verb, int call) {
    return verb == "acquire" && call == 0 ? Fate::reply_lost : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    EXPECT_EQ(trust_of(held).until(), at(54s)) << "the ttl began with the first: what is left says so";
    must(held.release());
  });
  run(2min);
  ASSERT_EQ(a.road.asked.size(), 2u);
  EXPECT_EQ(a.road.asked[0].request, a.road.asked[1].request);
  EXPECT_EQ(a.road.asked[0].owner, a.road.asked[1].owner);
  EXPECT_TRUE(is_free("deploy"));
}

TEST_F(LockClientTest, AnAcquireThatStaysInDoubtIsTakenBack) {
  a.road.fate = [](const std::string& verb, int) { return verb == "acquire" ? Fate::reply_lost : Fate::fine; };
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire(options)), Code::unavailable) << "it was taken back: nothing is held";
  });
  run(55s);
  EXPECT_EQ(a.road.count("acquire"), 2);
  EXPECT_EQ(a.road.count("withdraw"), 1);
  EXPECT_TRUE(is_free("deploy"));
}

TEST_F(LockClientTest, WhatCannotBeTakenBackAtOnceIsTakenBackLater) {
  a.road.fate = [&](const std::string& verb, int) {
    if (verb == "acquire") return Fate::reply_lost;
    return verb == "withdraw" && now() < at(40s) ? Fate::request_lost : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire(options)), Code::in_doubt);
    EXPECT_LE(now(), at(33s));
    sleep(a, 2min);
  });
  run(50s);
  EXPECT_TRUE(is_free("deploy"));
  run(10min);
}

TEST_F(LockClientTest, AGrantThatCameTooLateToBeUsedGoesBackAndIsNone) {
  options.ttl = 2s;
  a.road.reply_takes = 1600ms;
  start(a, [&](LockClient& locks) { EXPECT_EQ(code_of(locks.acquire(options)), Code::unavailable); });
  run(1min);
  EXPECT_EQ(a.events.count("lock_granted_too_late"), 1);
  EXPECT_EQ(a.road.count("withdraw"), 1);
  EXPECT_TRUE(is_free("deploy"));
}

TEST_F(LockClientTest, AStoreThatIsAwayIsWaitedForAsLongAsTheLockWouldBe) {
  a.road.fate = [&](const std::string&, int) { return now() < at(7s) ? Fate::refused : Fate::fine; };
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire(options)), Code::unavailable) << "no wait: at once";
    EXPECT_EQ(now(), at(0s));
    options.wait = 5s;
    EXPECT_EQ(code_of(locks.acquire(options)), Code::unavailable);
    EXPECT_EQ(now(), at(5s));
    must(must(locks.acquire(options)).release());
    EXPECT_LE(now(), at(10s));
  });
  run(1min);
}

TEST_F(LockClientTest, AWaitIsOverInTimeThoughTheStoreHangs) {
  held_by_another(40s);
  a.road.fate = [&](const std::string&, int) { return now() < at(3s) ? Fate::fine : Fate::request_lost; };
  options.wait = 8s;
  options.ttl = 30s;
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire(options)), Code::held)
        << "it had been told so, and nothing changed until its time was over";
    EXPECT_LE(now(), at(9s + 10ms)) << "what it takes to leave the queue";
    const Instant asked = now();
    EXPECT_EQ(code_of(locks.acquire(options)), Code::in_doubt);
    EXPECT_LE(now(), asked + 9600ms) << "the call under way had what was left of the wait";
  });
  run(10min);
}

TEST_F(LockClientTest, FailOpenRunsTheWorkWithoutAFenceAndCountsIt) {
  a.road.fate = [](const std::string&, int) { return Fate::refused; };
  options.on_acquire_error = OnStoreError::open;
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    EXPECT_TRUE(held.failed_open());
    EXPECT_TRUE(held.held());
    EXPECT_EQ(held.fence(), 0);
    sleep(a, 10min);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(locks.counts().fail_open, 1);
    EXPECT_EQ(locks.counts().acquired, 0);
    EXPECT_TRUE(held.release().has_value());
  });
  run(20min);
  EXPECT_EQ(a.events.count("lock_failed_open"), 1);
  EXPECT_EQ(a.road.count("release"), 0);
}

TEST_F(LockClientTest, FailOpenDoesNotRunTheWorkBesideAHolder) {
  held_by_another(1min);
  options.on_acquire_error = OnStoreError::open;
  start(a, [&](LockClient& locks) { EXPECT_EQ(code_of(locks.acquire(options)), Code::held); });
  run(2min);
}

TEST_F(LockClientTest, AReleaseThatIsNotAnsweredIsRepeatedAndThenReportedOrIgnoredAsTheClassSays) {
  bool away = false;
  a.road.fate = [&](const std::string& verb, int call) {
    if (verb == "release" && call == 0) return Fate::reply_lost;
    return verb == "release" && away ? Fate::refused : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    HeldLock first = must(locks.acquire(options));
    EXPECT_TRUE(first.release().has_value()) << "the repeat of a release is ok";
    away = true;
    HeldLock second = must(locks.acquire(options));
    EXPECT_EQ(code_of(second.release()), Code::unavailable);
    options.names = {"other"};
    options.on_release_error = OnReleaseError::ignore;
    HeldLock third = must(locks.acquire(options));
    EXPECT_TRUE(third.release().has_value());
    EXPECT_EQ(locks.counts().release_failures, 2);
  });
  run(2min);
  EXPECT_EQ(a.events.count("lock_release_failed"), 2);
}

TEST_F(LockClientTest, ASlowReleaseThatTookEffectIsNeitherAFailureNorALossThoughAnotherHasTheLock) {
  // The first answer is lost. Before the release is repeated, b has the lock.
  a.road.fate = [](const std::string& verb, int call) {
    return verb == "release" && call == 0 ? Fate::reply_lost : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    EXPECT_TRUE(held.release().has_value());
    EXPECT_EQ(locks.counts().lost, 0);
    EXPECT_EQ(locks.counts().release_failures, 0);
  });
  start(b, [&](LockClient& locks) {
    b.runtime.sleep_for(10ms, {});
    HeldLock held = must(locks.acquire({.names = options.names, .ttl = 60s, .wait = 1min}));
    b.runtime.sleep_for(20s, {});
    must(held.release());
  });
  run(2min);
  EXPECT_EQ(a.events.count("lock_lost"), 0);
}

TEST_F(LockClientTest, AReleaseThatTookEffectThoughNoAnswerEverCameIsFoundByALook) {
  a.road.fate = [](const std::string& verb, int) { return verb == "release" ? Fate::reply_lost : Fate::fine; };
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    EXPECT_TRUE(held.release().has_value());
    EXPECT_EQ(locks.counts().release_failures, 0);
    // No request arrives: whether it is free is not known.
    a.road.fate = [](const std::string& verb, int) { return verb == "release" ? Fate::request_lost : Fate::fine; };
    HeldLock second = must(locks.acquire(options));
    const Result<void> released = second.release();
    EXPECT_EQ(code_of(released), Code::in_doubt);
    EXPECT_NE(released.error().message.find("was not confirmed"), std::string::npos) << released.error().message;
  });
  run(3min);
}

TEST_F(LockClientTest, ARequestWithoutAnAnswerSaysWhetherItWasWithdrawnAndNoTwoVerdicts) {
  a.road.fate = [](const std::string& verb, int) { return verb == "acquire" ? Fate::request_lost : Fate::fine; };
  start(a, [&](LockClient& locks) {
    const auto asked = locks.acquire(options);
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().code, Code::unavailable);
    EXPECT_NE(asked.error().message.find("the request was withdrawn"), std::string::npos) << asked.error().message;
  });
  run(2min);
}

TEST_F(LockClientTest, SharedHoldersHaveOneFenceAndKeepAnExclusiveOneOut) {
  waiting.mode = LockMode::shared;
  const auto share = [&](Process& process) {
    start(process, [&](LockClient& locks) {
      HeldLock one = must(locks.acquire(waiting));
      HeldLock two = must(locks.acquire(waiting));  // of the same process
      EXPECT_EQ(one.fence(), two.fence());
      EXPECT_EQ(one.fence(), row("deploy")->fence);
      sleep(process, 10s);
      must(one.release());
      must(two.release());
    });
  };
  share(a);
  share(b);
  start(c, [&](LockClient& locks) {
    sleep(c, 1s);
    must(must(locks.acquire({.names = {"deploy"}, .ttl = 60s, .wait = 1min})).release());
    EXPECT_GE(now(), at(10s));
    EXPECT_LE(now(), at(11s));
  });
  simulation.at(at(5s), [&] { EXPECT_EQ(row("deploy")->holders_count, 4); });
  run(1min);
}

TEST_F(LockClientTest, OfSeveralSlotsEachHolderHasOneOfItsOwn) {
  options.slots = 2;
  start(a, [&](LockClient& locks) {
    HeldLock one = must(locks.acquire(options));
    HeldLock two = must(locks.acquire(options));
    EXPECT_EQ(one.resource(), "deploy");
    EXPECT_EQ(two.resource(), "deploy#2");
    EXPECT_EQ(code_of(locks.acquire(options)), Code::held);
    must(one.release());
    HeldLock three = must(locks.acquire(options));
    EXPECT_EQ(three.resource(), "deploy");
    must(two.release());
    must(three.release());
  });
  run(1min);
}

TEST_F(LockClientTest, SeveralNamesAreHadAllOrNoneAndInAnyOrder) {
  held_by_another(5s);
  start(a, [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire({.names = {"zoo", "deploy", "ant"}})), Code::held);
    EXPECT_TRUE(is_free("ant"));
    HeldLock held = must(locks.acquire({.names = {"zoo", "deploy", "ant"}, .wait = 1min}));
    ASSERT_EQ(held.grants().size(), 3u);
    EXPECT_EQ(held.grants()[0].resource, "ant");
    EXPECT_EQ(held.fence_of("zoo"), row("zoo")->fence);
    EXPECT_EQ(held.fence_of("nobody"), 0);
    break_lock("zoo");
    EXPECT_FALSE(a.runtime.sleep_for(1s, held.stop())) << "one that is broken ends them all";
    EXPECT_EQ(code_of(held.release()), Code::lost);
  });
  run(1min);
}

TEST_F(LockClientTest, OfSeveralNamesNoneStaysLeasedWhenOneEndedBeforeTheAnswerCame) {
  a.road.fate = [&](const std::string& verb, int call) {
    return verb == "acquire" && call == 0 ? Fate::reply_lost : Fate::fine;
  };
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire({.names = {"ant", "bee"}, .ttl = 10min, .wait = 1h}));
    EXPECT_LE(now(), at(15s)) << "and not when the first grant of bee has ended";
    must(held.release());
  });
  simulation.at(at(2s), [&] { break_lock("ant"); });
  run(1h);
}

TEST_F(LockClientTest, AHandleCanBeEnteredAgainUnderTheSameFence) {
  start(a, [&](LockClient& locks) {
    HeldLock outer = must(locks.acquire(options));
    HeldLock inner = must(outer.enter());
    EXPECT_EQ(inner.fence(), outer.fence());
    must(outer.release());
    EXPECT_TRUE(inner.held()) << "the last one frees it";
    EXPECT_FALSE(is_free("deploy"));
    must(inner.release());
    EXPECT_TRUE(is_free("deploy"));
    EXPECT_EQ(code_of(outer.enter()), Code::lost);
  });
  run(1min);
  EXPECT_EQ(a.road.count("acquire"), 1);
  EXPECT_EQ(a.road.count("release"), 1);
}

TEST_F(LockClientTest, ANamedHolderEntersWhatItHasAndNobodyElseDoes) {
  options.holder = "order-17";
  start(a, [&](LockClient& locks) {
    HeldLock outer = must(locks.acquire(options));
    HeldLock inner = must(locks.acquire(options));
    EXPECT_EQ(inner.fence(), outer.fence());
    LockOptions other = options;
    other.holder = "order-18";
    EXPECT_EQ(code_of(locks.acquire(other)), Code::held);
    other.holder = "";
    EXPECT_EQ(code_of(locks.acquire(other)), Code::held);
    must(inner.release());
    EXPECT_FALSE(is_free("deploy"));
    must(outer.release());
    EXPECT_TRUE(is_free("deploy"));
  });
  run(1min);
}

TEST_F(LockClientTest, AHolderThatWouldWaitForItselfIsRefused) {
  options.holder = "order-17";
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire(options));
    LockOptions more = options;
    more.names = {"deploy", "other"};
    more.wait = 1h;
    EXPECT_EQ(code_of(locks.acquire(more)), Code::refused);
    LockOptions shared = options;
    shared.mode = LockMode::shared;
    EXPECT_EQ(code_of(locks.acquire(shared)), Code::refused);
    must(held.release());
  });
  run(1min);
}

TEST_F(LockClientTest, HoldAtLeastKeepsOthersOutAfterTheRelease) {
  options.hold_at_least = 20s;
  start(a, [&](LockClient& locks) {
    must(must(locks.acquire(options)).release());
    const Result<HeldLock> again = locks.acquire(options);
    ASSERT_EQ(code_of(again), Code::held);
    EXPECT_NE(again.error().message.find("is kept for "), std::string::npos) << again.error().message;
    options.wait = 1min;
    must(must(locks.acquire(options)).release());
    EXPECT_GE(now(), at(20s));
    EXPECT_LE(now(), at(21s));
  });
  run(2min);
}

TEST_F(LockClientTest, FreeLocksAreRemovedAtTheStoreThoughNothingIsReleasedAnyMore) {
  start(a, [&](LockClient& locks) {
    Fence largest = 0;
    for (int i = 0; i < 50; ++i) {
      HeldLock held = must(locks.acquire({.names = {"name-" + std::to_string(i)}}));
      largest = std::max(largest, held.fence());
      must(held.release());
    }
    sleep(a, 1h);
    EXPECT_TRUE(must(memory.locks({.ns = "default"})).locks.empty());
    HeldLock again = must(locks.acquire({.names = {"name-7"}}));
    EXPECT_GT(again.fence(), largest);
    must(again.release());
  });
  run(61min);
  EXPECT_LE(a.road.count("tidy"), 7);
}

TEST_F(LockClientTest, ManyFreeLocksAreRemovedThoughOneCallTakesAThousand) {
  start(a, [&](LockClient& locks) {
    for (int i = 0; i < 2500; ++i) must(must(locks.acquire({.names = {"name-" + std::to_string(i)}})).release());
    sleep(a, 1h);
    EXPECT_TRUE(must(memory.locks({.ns = "default"})).locks.empty());
  });
  run(61min);
}

TEST_F(LockClientTest, AClientThatHasNothingToDoAsksNothing) {
  start(a, [&](LockClient& locks) {
    must(must(locks.acquire(options)).release());
    sleep(a, 24h);
  });
  run(25h);
  EXPECT_EQ(a.road.count("renew"), 0);
  EXPECT_EQ(a.road.count("lock"), 0);
  EXPECT_LE(a.road.count("tidy"), 6);
}

}  // namespace
}  // namespace fenceline::test
