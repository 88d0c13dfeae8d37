// A server's clock that was ahead and comes back: nothing stays held for longer than its own length (L3, L6).
#include "conformance/conformance.hpp"

namespace fenceline::test {

using namespace std::chrono_literals;

#define SKIP_IF_NOBODY_CAN_SET_THE_CLOCK() \
  if (!clock_goes_ahead()) GTEST_SKIP() << "leases run on a clock that nobody can set"

TEST_P(ClockConformance, L3_TheLeaseOfAJobEndsWithinOneTtlAfterTheClockCameBack) {
  const JobId id = added_to("q");
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  NewJob late = new_job("q");
  const JobId other = added(late);
  const ClaimedJob first = claimed_by("a");
  ASSERT_EQ(first.job.id, id);
  clock_comes_back();
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_LE(look(id).lease_left, kTtl);
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  const ClaimedJob taken_over = claimed_by("b");
  EXPECT_EQ(taken_over.job.id, id);
  EXPECT_TRUE(taken_over.forced);
  EXPECT_EQ(taken_over.previous_owner, "a");
  EXPECT_GT(taken_over.job.fence, first.job.fence);
  EXPECT_EQ(look(other).state, JobState::ready);  // it came while the clock was ahead
}

TEST_P(ClockConformance, L3_EveryLeaseOfABatchEndsWithinOneTtl) {
  for (int i = 0; i < 20; ++i) added_to("q");
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  ASSERT_EQ(claimed(asking("a", 20)).size(), 20u);
  clock_comes_back();
  EXPECT_TRUE(claimed(asking("b", 20)).empty());
  let_time_pass(kTtl);
  EXPECT_EQ(claimed(asking("b", 20)).size(), 20u);
}

TEST_P(ClockConformance, L3_EachLeaseKeepsItsOwnLength) {
  NewJob grouped = new_job("q");
  grouped.group = "g";
  const JobId id = added(grouped);
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const ClaimedJob held = claimed_by("a");
  EXPECT_EQ(extended("a", holding_of(held), 5 * kTtl), "");
  clock_comes_back();
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(5 * kTtl - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  EXPECT_EQ(claimed_by("b").job.id, id);
}

TEST_P(ClockConformance, L3_AHolderThatLivesGoesOnRenewing) {
  added_to("q");
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const ClaimedJob held = claimed_by("a");
  clock_comes_back();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(extended("a", holding_of(held)), "");
    EXPECT_TRUE(claimed(asking("b")).empty());
    let_time_pass(kTtl / 2);
  }
  EXPECT_EQ(ended(held), "");
}

TEST_P(ClockConformance, L3_ARepeatedClaimIsNotGrantedForLongerThanItsTtl) {
  added_to("q");
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const ClaimRequest request = asking("a");
  ASSERT_EQ(claimed(request).size(), 1u);
  clock_comes_back();
  const std::vector<ClaimedJob> again = claimed(request);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_LE(again.front().left, kTtl);
}

// A step back that is smaller than the lease is old leaves it as it is.
TEST_P(ClockConformance, L3_ASmallStepBackShortensNoLease) {
  const JobId id = added_to("q");
  if (!set_server_clock(0s)) GTEST_SKIP() << "leases run on a clock that nobody can set";
  claimed_by("a");
  let_time_pass(kTtl / 2);
  set_server_clock(-kTtl / 4);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kTtl / 2 + kTtl / 4 - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  EXPECT_EQ(claimed_by("b").job.id, id);
}

TEST_P(ClockConformance, J7_AKeptSlotIsFreeWithinOneTtl) {
  set_queue({.limit = 1});
  const JobId id = added_to("q");
  const JobId next = added_to("q");
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  claimed_as_next(id, "a");
  EXPECT_EQ(cancelled(id), "");
  clock_comes_back();
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kTtl);
  EXPECT_EQ(claimed_by("b").job.id, next);
}

TEST_P(ClockConformance, J7_AKeptSlotOfAGroupIsFreeWithinOneTtl) {
  NewJob first = new_job("q"), second = new_job("q");
  first.group = second.group = "g";
  const JobId id = added(first);
  const JobId next = added(second);
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  claimed_as_next(id, "a");
  EXPECT_EQ(cancelled(id), "");
  clock_comes_back();
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kTtl);
  EXPECT_EQ(claimed_by("b").job.id, next);
}

TEST_P(ClockConformance, L3_ALockIsTakenOverWithinOneTtlAfterTheClockCameBack) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const LockHolding held = taken_by("a");
  clock_comes_back();
  EXPECT_LE(lock_row().free_in.value_or(0s), kTtl);
  const AcquireReply refused = must(store().acquire(taking("b")));
  ASSERT_TRUE(refused.held);
  EXPECT_EQ(refused.held->owner, "a");
  EXPECT_LE(refused.again_in.value_or(0s), kTtl);
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(tried(taking("b")), "held");
  let_time_pass(kMoment);
  EXPECT_GT(taken_by("b").fence, held.fence);
  EXPECT_EQ(renewed(held), "superseded");
}

TEST_P(ClockConformance, L3_ALockThatIsRenewedStaysWithItsHolder) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const LockHolding held = taken_by("a");
  EXPECT_EQ(renewed(held), "");
  clock_comes_back();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(renewed(held), "");
    EXPECT_EQ(tried(taking("b")), "held");
    let_time_pass(kTtl / 2);
  }
}

TEST_P(ClockConformance, L3_ARepeatedAcquireIsNotGrantedForLongerThanItsTtl) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const AcquireRequest request = taking("a");
  taken(request);
  clock_comes_back();
  const AcquireReply again = must(store().acquire(request));
  ASSERT_EQ(again.grants.size(), 1u);
  EXPECT_LE(again.left, kTtl);
}

TEST_P(ClockConformance, L3_ASharedLockIsFreeWithinOneTtl) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const LockHolding first = taken(sharing("a"));
  taken(sharing("b"));
  clock_comes_back();
  EXPECT_EQ(renewed(first), "");
  EXPECT_EQ(tried(taking("c")), "held");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("c")), "granted");
}

TEST_P(ClockConformance, L3_ASharedLockThatWasReleasedWhileTheClockWasAheadIsFree) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  EXPECT_EQ(released(taken(sharing("a"))), "");
  clock_comes_back();
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(ClockConformance, L3_ASlotOfALockIsFreeWithinOneTtl) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const auto slot = [&](const std::string& owner) {
    AcquireRequest request = taking(owner);
    request.slots = 2;
    return request;
  };
  taken(slot("a"));
  taken(slot("b"));
  clock_comes_back();
  EXPECT_EQ(tried(slot("c")), "held");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(slot("c")), "granted");
  EXPECT_EQ(tried(slot("d")), "granted");
}

TEST_P(ClockConformance, L6_TheWindowOfALoopIsNoLongerThanItself) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  AcquireRequest window = taking("a");
  window.to_its_end = true;
  taken(window);
  clock_comes_back();
  AcquireRequest next = taking("b");
  next.to_its_end = true;
  EXPECT_EQ(tried(next), "held");
  let_time_pass(kTtl - kMoment);
  next.request = "again";
  EXPECT_EQ(tried(next), "held");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(next), "granted");
}

TEST_P(ClockConformance, ABarIsNoLongerThanItself) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  AcquireRequest request = taking("a");
  request.hold_at_least = 3 * kTtl;
  const LockHolding held = taken(request);
  clock_comes_back();
  EXPECT_EQ(renewed(held), "");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(taking("b")), "barred");
  let_time_pass(3 * kTtl - kMoment);
  EXPECT_EQ(tried(taking("b")), "barred");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(ClockConformance, ADelayIsNoLongerThanItself) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  AcquireRequest request = taking("a");
  request.delay = kTtl;
  taken(request);
  clock_comes_back();
  EXPECT_EQ(tried(taking("b")), "held");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("b")), "delayed");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(ClockConformance, AWaiterThatLeftWhileTheClockWasAheadKeepsNobodyWaiting) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  const LockHolding held = taken_by("a");
  EXPECT_EQ(tried(waiting("gone")), "held");
  clock_comes_back();
  const AcquireRequest patient = waiting("b");
  EXPECT_EQ(tried(patient), "held");
  EXPECT_EQ(released(held), "");
  let_time_pass(kLockTurn);
  EXPECT_EQ(tried(patient), "granted");
  let_time_pass(kLockWaiterKeptFor);
  EXPECT_EQ(tried(taking("c")), "granted");
  EXPECT_EQ(lock_row().waiters_count, 0);
}

TEST_P(ClockConformance, ALockThatWasFreeWhileTheClockWasAheadIsForgottenInTime) {
  SKIP_IF_NOBODY_CAN_SET_THE_CLOCK();
  EXPECT_EQ(released(taken_by("a")), "");
  EXPECT_EQ(released(taken(sharing("a", "shared"))), "");
  clock_comes_back();
  tidied();
  let_time_pass(kFreeLockKeptFor);
  tidied();
  let_time_pass(kFreeLockKeptFor);
  tidied();
  EXPECT_TRUE(must(store().locks({.ns = "default"})).locks.empty());
}

#undef SKIP_IF_NOBODY_CAN_SET_THE_CLOCK

}  // namespace fenceline::test
