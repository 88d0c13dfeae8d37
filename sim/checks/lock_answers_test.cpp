// Answers of locks that real programs gave and that are wrong: the checks must find each of them out. Beside each our
// own store, which plays the same schedule and passes. The numbers are those of the list of faults that this project
// keeps; wrong ways to make a lock, as models that run, are in lock_recipes_test.cpp.
#include <gtest/gtest.h>

#include <string>

#include "backends/memory/memory_store.hpp"
#include "sim/checks/lock_checks.hpp"
#include "sim/store/recording_store.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;
using test::must;

constexpr Duration kLockTtl = 10s;

AcquireRequest asks(const std::string& owner) {
  return {.ns = "default", .names = {"l"}, .owner = owner, .request = "try of " + owner, .ttl = kLockTtl};
}

// A clock, our store behind the checks, and a way to tell the checks of what a wrong store answered.
class Judge final : private StoreObserver {
 public:
  void pass(Duration time) { clock_.advance(time); }
  Store& ours() { return recorded_; }

  // What a store that makes a mistake answers at this moment.
  void granted(const AcquireRequest& request, Fence fence, const std::string& previous = "", Duration left = kLockTtl) {
    says<AcquireCall>(request, Result<AcquireReply>(AcquireReply{.grants = {{"l", fence, previous}}, .left = left}));
  }
  void held(const AcquireRequest& request) {
    says<AcquireCall>(request, Result<AcquireReply>(AcquireReply{
                                   .held = LockHeld{.resource = "l", .reason = Reason::held}, .again_in = kLockTtl}));
  }
  void renewed(const std::string& owner, Fence fence, Duration left = kLockTtl) {
    says<RenewCall>(RenewRequest{.ns = "default", .locks = {{"l", owner, fence}}, .ttl = kLockTtl},
                    Result<RenewReply>(RenewReply{.left = left}));
  }
  void released(const std::string& owner, Fence fence) {
    says<ReleaseCall>(ReleaseRequest{.ns = "default", .locks = {{"l", owner, fence}}},
                      Result<ReleaseReply>(ReleaseReply{}));
  }

  // The same with our store: the fence (0: not granted), and the reason of a refusal (empty: accepted).
  Fence our_grant(const AcquireRequest& request) {
    const AcquireReply reply = must(ours().acquire(request));
    return reply.grants.empty() ? 0 : reply.grants.front().fence;
  }
  std::string our_renewal(const std::string& owner, Fence fence) {
    const RenewReply reply = must(ours().renew({.ns = "default", .locks = {{"l", owner, fence}}, .ttl = kLockTtl}));
    return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
  }
  std::string our_release(const std::string& owner, Fence fence) {
    const ReleaseReply reply = must(ours().release({.ns = "default", .locks = {{"l", owner, fence}}}));
    return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
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

// A waiter brings its lease along: it ends while it waits, and the lock is handed to it all the same (etcd#11456).
TEST(LockAnswers, B1_AWaiterWhoseOwnLeaseEndedIsGranted) {
  Judge wrong;
  wrong.granted(asks("holder"), 1);
  const Duration lease_of_the_waiter = kLockTtl;  // from its question on
  wrong.pass(kLockTtl);
  ASSERT_LE(lease_of_the_waiter - kLockTtl, 0s);
  wrong.granted(asks("waiter"), 2, "holder");  // a lease that has ended
  wrong.pass(1s);
  wrong.granted(asks("next"), 3);  // so that the next one may have it
  EXPECT_EQ(wrong.broken(), "L3");

  Judge right;
  right.our_grant(asks("holder"));
  AcquireRequest waits = asks("waiter");
  waits.wait = true;
  EXPECT_EQ(right.our_grant(waits), 0);
  right.pass(kLockTtl);
  EXPECT_NE(right.our_grant(waits), 0) << "its lease begins when it takes the lock, by a call of its own";
  right.pass(1s);
  EXPECT_EQ(right.our_grant(asks("next")), 0);
  EXPECT_EQ(right.broken(), "");
}

// Back after a lost session, it meets what it left behind, takes that for its own, and that is removed (curator#1121).
TEST(LockAnswers, B7_AnOldLeaseOfTheSameOwnerIsTakenForTheNewOne) {
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

// Success is said of a lock that expired (redsync#38), or the key is set again (redlock-rb#36).
TEST(LockAnswers, B14_B16_ARenewalOfALockThatExpired) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kLockTtl);
  wrong.renewed("a", 1);
  EXPECT_EQ(wrong.broken(), "L4");

  Judge right;
  const Fence a = right.our_grant(asks("a"));
  right.pass(kLockTtl);
  EXPECT_EQ(right.our_renewal("a", a), "expired");
  EXPECT_NE(right.our_grant(asks("b")), 0);
  EXPECT_EQ(right.our_renewal("a", a), "superseded");
  EXPECT_EQ(right.broken(), "");
}

TEST(LockAnswers, B14_AReleaseThatSaysOkOfALockThatIsAnothers) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kLockTtl);
  wrong.granted(asks("b"), 2, "a");
  wrong.released("a", 1);
  EXPECT_EQ(wrong.broken(), "L4");
}

// The reply of the first try is lost, and the repeat meets its own value (node-redlock#369).
TEST(LockAnswers, B17_AClientThatBlocksItself) {
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
TEST(LockAnswers, B19_B20_ALeaseThatIsMuchLongerThanItsTtl) {
  Judge renews;
  renews.granted(asks("a"), 1);
  renews.renewed("a", 1, kLockTtl * 1000);
  EXPECT_EQ(renews.broken(), "L4");
  Judge grants;
  grants.granted(asks("a"), 1, "", 24h * 365 * 50);
  EXPECT_EQ(grants.broken(), "L4");

  Judge right;
  right.our_grant(asks("a"));
  right.pass(kLockTtl);
  EXPECT_NE(right.our_grant(asks("b")), 0);
  EXPECT_EQ(right.broken(), "");
}

// Seconds read as milliseconds, and -1 for "no end" in arithmetic (nango#3936, files_lock#130): the lease is over long
// before its holder thinks so.
TEST(LockAnswers, B21_ALeaseThatIsMuchShorterThanItsTtl) {
  Judge wrong;
  wrong.granted(asks("a"), 1);
  wrong.pass(kLockTtl / 1000);
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
