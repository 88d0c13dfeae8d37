// Widely copied ways to make a lock that are wrong, as small models: what each answers on the schedule that shows it is given to the checks, which must find it out. Beside each
// our own store, which plays the same schedule and passes. The numbers are those of the list of faults that this project keeps.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "backends/memory/memory_store.hpp"
#include "model/trust.hpp"
#include "sim/checks/lock_checks.hpp"
#include "sim/store/recording_store.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;
using test::must;

constexpr Duration kTtl = 10s;

AcquireRequest asks(const std::string& owner) { return {.ns = "default", .names = {"l"}, .owner = owner, .request = "try of " + owner, .ttl = kTtl}; }

// A clock, our store behind the checks, and a way to tell the checks of what a wrong store answered.
class Judge final : private StoreObserver {
 public:
  void pass(Duration time) { clock_.advance(time); }
  Store& ours() { return recorded_; }

  // What a store that makes a mistake answers at this moment.
  void granted(const AcquireRequest& request, Fence fence, const std::string& previous = "", Duration left = kTtl) {
    says<AcquireCall>(request, Result<AcquireReply>(AcquireReply{.grants = {{"l", fence, previous}}, .left = left}));
  }
  void held(const AcquireRequest& request) {
    says<AcquireCall>(request, Result<AcquireReply>(AcquireReply{.held = LockHeld{.resource = "l", .reason = "held"}, .again_in = kTtl}));
  }
  void renewed(const std::string& owner, Fence fence, Duration left = kTtl) {
    says<RenewCall>(RenewRequest{.ns = "default", .locks = {{"l", owner, fence}}, .ttl = kTtl}, Result<RenewReply>(RenewReply{.left = left}));
  }
  void released(const std::string& owner, Fence fence) { says<ReleaseCall>(ReleaseRequest{.ns = "default", .locks = {{"l", owner, fence}}}, Result<ReleaseReply>(ReleaseReply{})); }

  // The same with our store: the fence (0: not granted), and the reason of a refusal (empty: accepted).
  Fence our_grant(const AcquireRequest& request) {
    const AcquireReply reply = must(ours().acquire(request));
    return reply.grants.empty() ? 0 : reply.grants.front().fence;
  }
  std::string our_renewal(const std::string& owner, Fence fence) {
    const RenewReply reply = must(ours().renew({.ns = "default", .locks = {{"l", owner, fence}}, .ttl = kTtl}));
    return reply.refused.empty() ? "" : reply.refused.front().reason;
  }
  std::string our_release(const std::string& owner, Fence fence) {
    const ReleaseReply reply = must(ours().release({.ns = "default", .locks = {{"l", owner, fence}}}));
    return reply.refused.empty() ? "" : reply.refused.front().reason;
  }

  // The promise that was broken first; empty: none.
  std::string broken() const { return violations_.empty() ? "" : violations_.found().front().promise; }

 private:
  void applied(const Applied& applied) override { checks_.applied(applied); }

  template <class AnyCall, class Request, class Answer>
  void says(const Request& request, const Answer& answer) {
    checks_.applied({clock_.now(), clock_.wall_now(), AnyCall{request, answer}});
  }

  test::ManualClock clock_;
  MemoryStore store_{clock_};
  Violations violations_;
  Tally tally_;
  LockChecks checks_{"default", store_, violations_, tally_, {}};
  RecordingStore recorded_{clock_, store_, *this};
};

// A lock in one place and a counter in another, as with SETNX and INCR.
struct LockAndCounter {
  bool set_if_absent(const std::string& owner) {
    if (holder) return false;
    holder = owner;
    return true;
  }
  std::optional<std::string> holder;
  Fence counter = 0;
};

TEST(LockRecipes, R1_LockFirstAndFenceByASecondCommand) {
  LockAndCounter redis;
  Judge wrong;
  ASSERT_TRUE(redis.set_if_absent("a"));  // and a stalls
  wrong.pass(kTtl);
  redis.holder.reset();
  ASSERT_TRUE(redis.set_if_absent("b"));
  wrong.granted(asks("b"), ++redis.counter);
  wrong.granted(asks("a"), ++redis.counter);  // the stale holder outranks the live one
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  const Fence a = right.our_grant(asks("a"));
  right.pass(kTtl);
  const Fence b = right.our_grant(asks("b"));
  EXPECT_GT(b, a) << "the order of the fences is that of the grants";
  EXPECT_EQ(right.our_renewal("a", a), "superseded");
  EXPECT_EQ(right.broken(), "");
}

TEST(LockRecipes, R2_AnUnconditionalDeleteFreesAnothersLock) {
  LockAndCounter redis;
  Judge wrong;
  ASSERT_TRUE(redis.set_if_absent("a"));
  wrong.granted(asks("a"), ++redis.counter);
  wrong.pass(kTtl);
  redis.holder.reset();
  ASSERT_TRUE(redis.set_if_absent("b"));
  wrong.granted(asks("b"), ++redis.counter, "a");
  redis.holder.reset();  // a's DEL, after an error of its own
  wrong.released("a", 1);
  EXPECT_EQ(wrong.broken(), "L4");

  Judge right;
  const Fence a = right.our_grant(asks("a"));
  right.pass(kTtl);
  right.our_grant(asks("b"));
  EXPECT_EQ(right.our_release("a", a), "superseded");
  EXPECT_EQ(right.our_grant(asks("c")), 0);
  EXPECT_EQ(right.broken(), "");
}

// The look says that it is mine, the ttl ends, another takes it, and the delete takes the other's (redis-py#415 and others).
TEST(LockRecipes, R6_B18_AReleaseByGetThenDelete) {
  LockAndCounter redis;
  Judge wrong;
  ASSERT_TRUE(redis.set_if_absent("a"));
  wrong.granted(asks("a"), ++redis.counter);
  wrong.pass(kTtl - 1ms);
  ASSERT_EQ(redis.holder, "a");  // GET
  wrong.pass(1ms);
  redis.holder.reset();
  ASSERT_TRUE(redis.set_if_absent("b"));
  wrong.granted(asks("b"), ++redis.counter, "a");
  redis.holder.reset();  // DEL
  ASSERT_TRUE(redis.set_if_absent("c"));
  wrong.granted(asks("c"), ++redis.counter);
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  const Fence a = right.our_grant(asks("a"));
  right.pass(kTtl);
  const Fence b = right.our_grant(asks("b"));
  EXPECT_EQ(right.our_release("a", a), "superseded") << "one step compares and frees";
  EXPECT_EQ(right.our_grant(asks("c")), 0);
  EXPECT_EQ(right.our_renewal("b", b), "");
  EXPECT_EQ(right.broken(), "");
}

// A lock freed when a short task ends: a node whose clock is behind runs the same tick again (R6, ShedLock#6).
TEST(LockRecipes, R6_B25_ALockFreedRightAfterAShortTaskRunsATickTwice) {
  Judge freed_at_once;
  const Fence first = freed_at_once.our_grant(asks("a"));
  EXPECT_EQ(freed_at_once.our_release("a", first), "");
  freed_at_once.pass(100ms);
  EXPECT_NE(freed_at_once.our_grant(asks("b")), 0) << "the second run of one tick";

  Judge right;
  AcquireRequest at_least = asks("a");
  at_least.hold_at_least = 5s;
  const Fence a = right.our_grant(at_least);
  EXPECT_EQ(right.our_release("a", a), "");
  right.pass(5s - 1ms);
  EXPECT_EQ(right.our_grant(asks("b")), 0);
  AcquireRequest again = asks("a");
  again.request = "the next tick";
  EXPECT_EQ(right.our_grant(again), 0);
  right.pass(1ms);
  EXPECT_NE(right.our_grant(asks("b")), 0);
  EXPECT_EQ(right.broken(), "");
}

// The end of the lock is compared with the clock of the one that asks, which is three minutes ahead (ShedLock#231).
TEST(LockRecipes, B25_TheClockOfTheOneThatAsksDecides) {
  constexpr Duration kAhead = 3min;
  Judge wrong;
  Duration now{0};
  const Duration lock_until = now + kTtl;
  wrong.granted(asks("a"), 1);
  wrong.pass(1s);
  now += 1s;
  ASSERT_GT(now + kAhead, lock_until);
  wrong.granted(asks("b"), 2);
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  right.our_grant(asks("a"));
  right.pass(1s);
  EXPECT_EQ(right.our_grant(asks("b")), 0) << "a request carries durations only";
  EXPECT_EQ(right.broken(), "");
}

// A waiter brings its lease along: it ends while it waits, and the lock is handed to it all the same (etcd#11456).
TEST(LockRecipes, B1_AWaiterWhoseOwnLeaseEndedIsGranted) {
  Judge wrong;
  wrong.granted(asks("holder"), 1);
  const Duration lease_of_the_waiter = kTtl;  // from its question on
  wrong.pass(kTtl);
  ASSERT_LE(lease_of_the_waiter - kTtl, 0s);
  wrong.granted(asks("waiter"), 2, "holder");  // a lease that has ended
  wrong.pass(1s);
  wrong.granted(asks("next"), 3);              // so that the next one may have it
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  right.our_grant(asks("holder"));
  AcquireRequest waits = asks("waiter");
  waits.wait = true;
  EXPECT_EQ(right.our_grant(waits), 0);
  right.pass(kTtl);
  EXPECT_NE(right.our_grant(waits), 0) << "its lease begins when it takes the lock, by a call of its own";
  right.pass(1s);
  EXPECT_EQ(right.our_grant(asks("next")), 0);
  EXPECT_EQ(right.broken(), "");
}

// Back after a lost session, it meets what it left behind, takes that for its own, and that is removed (curator#1121).
TEST(LockRecipes, B7_AnOldLeaseOfTheSameOwnerIsTakenForTheNewOne) {
  AcquireRequest again = asks("a");
  again.request = "after the reconnect";
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(1s);
  wrong.granted(again, 1);
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  right.our_grant(asks("a"));
  right.pass(1s);
  EXPECT_EQ(right.our_grant(again), 0) << "another try is somebody else";
  EXPECT_EQ(right.broken(), "");
}

// The row is matched by its name alone (oban#1488).
TEST(LockRecipes, B9_ARenewalThatMatchesTheNameOnly) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kTtl);
  wrong.granted(asks("b"), 2, "a");
  wrong.renewed("a", 1);
  EXPECT_EQ(wrong.broken(), "L4");

  Judge right;
  const Fence a = right.our_grant(asks("a"));
  right.pass(kTtl);
  const Fence b = right.our_grant(asks("b"));
  EXPECT_EQ(right.our_renewal("a", a), "superseded");
  EXPECT_EQ(right.our_renewal("a", b), "other_owner");
  EXPECT_EQ(right.broken(), "");
}

// Success is said of a lock that expired (redsync#38), or the key is set again (redlock-rb#36).
TEST(LockRecipes, B14_B16_ARenewalOfALockThatExpired) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kTtl);
  wrong.renewed("a", 1);
  EXPECT_EQ(wrong.broken(), "L4");

  Judge right;
  const Fence a = right.our_grant(asks("a"));
  right.pass(kTtl);
  EXPECT_EQ(right.our_renewal("a", a), "expired");
  EXPECT_NE(right.our_grant(asks("b")), 0);
  EXPECT_EQ(right.our_renewal("a", a), "superseded");
  EXPECT_EQ(right.broken(), "");
}

TEST(LockRecipes, B14_AReleaseThatSaysOkOfALockThatIsAnothers) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kTtl);
  wrong.granted(asks("b"), 2, "a");
  wrong.released("a", 1);
  EXPECT_EQ(wrong.broken(), "L4");
}

// Validity is counted from the answer: the slowest node answered when the lock was over (redsync#72).
TEST(LockRecipes, B15_TrustThatCountsFromTheAnswer) {
  const LeaseTimes times = LeaseTimes::of(kTtl);
  const Instant asked{1h};
  const Instant granted = asked + 1ms;       // by the store, at once
  const Instant answered = asked + kTtl - 1s;  // and the answer took its time
  const Instant end = granted + kTtl;
  EXPECT_GT(answered + kTtl - times.margin, end) << "the recipe trusts a lock that is over";
  EXPECT_LT(trusted_until(asked, answered, {.left = kTtl, .waited = 0s}, times), end);
}

// The reply of the first try is lost, and the repeat meets its own value (node-redlock#369).
TEST(LockRecipes, B17_AClientThatBlocksItself) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.held(asks("a"));
  EXPECT_EQ(wrong.broken(), "L1");

  Judge right;
  const Fence first = right.our_grant(asks("a"));
  right.pass(1s);
  EXPECT_EQ(right.our_grant(asks("a")), first);
  EXPECT_EQ(right.broken(), "");
}

// Milliseconds given to what takes seconds; an absolute time used as a duration (node-redlock#2, machinery#655).
TEST(LockRecipes, B19_B20_ALeaseThatIsMuchLongerThanItsTtl) {
  Judge renews;
  renews.granted(asks("a"), 1);
  renews.renewed("a", 1, kTtl * 1000);
  EXPECT_EQ(renews.broken(), "L4");
  Judge grants;
  grants.granted(asks("a"), 1, "", 24h * 365 * 50);
  EXPECT_EQ(grants.broken(), "L4");

  Judge right;
  right.our_grant(asks("a"));
  right.pass(kTtl);
  EXPECT_NE(right.our_grant(asks("b")), 0);
  EXPECT_EQ(right.broken(), "");
}

// Seconds read as milliseconds, and -1 for "no end" in arithmetic (nango#3936, files_lock#130): the lease is over long before its holder thinks so.
TEST(LockRecipes, B21_ALeaseThatIsMuchShorterThanItsTtl) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kTtl / 1000);
  wrong.granted(asks("b"), 2);
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  for (const Duration ttl : {Duration{-1s}, Duration{0s}, Duration{120ms}, Duration{24h * 400}}) {
    AcquireRequest request = asks("a");
    request.ttl = ttl;
    EXPECT_EQ(test::code_of(right.ours().acquire(request)), Code::invalid);
  }
  EXPECT_EQ(right.broken(), "");
}

}  // namespace
}  // namespace fenceline::sim
