#include "model/trust.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

constexpr Instant kAsked{1h};

TEST(Trust, L5_TheTimesOfASixtySecondLease) {
  constexpr LeaseTimes times = LeaseTimes::of(60s);
  EXPECT_EQ(times.margin, 6s);
  EXPECT_EQ(times.grace, 10s);
  EXPECT_EQ(times.call_timeout, 3s);
  EXPECT_EQ(renewal_try(0, times), 20s);
  EXPECT_EQ(renewal_try(1, times), 30'500ms);
  EXPECT_EQ(renewal_try(2, times), 41s);
  EXPECT_EQ(renewal_try(3, times), std::nullopt);
  EXPECT_EQ(renewal_try(-1, times), std::nullopt);
  const Instant trusted = trusted_until(kAsked, kAsked, {.left = 60s, .waited = 0s}, times);
  EXPECT_EQ(stop_work_at(trusted, times) - kAsked, 44s);
  EXPECT_EQ(trusted - kAsked, 54s);
}

TEST(Trust, L5_TheLastTryHasFailedWhenTheWorkIsToldToStop) {
  for (const Duration ttl : std::vector<Duration>{1s, 2s, 10s, 30s, 60s, 24h}) {
    const LeaseTimes times = LeaseTimes::of(ttl);
    for (const int tries : {2, 3, 5}) {
      EXPECT_EQ(*renewal_try(0, times, tries), times.renew_after);
      EXPECT_LE(*renewal_try(tries - 1, times, tries) + times.call_timeout, ttl - times.margin - times.grace);
      for (int n = 1; n < tries; ++n) EXPECT_GT(renewal_try(n, times, tries), renewal_try(n - 1, times, tries));
    }
    EXPECT_EQ(renewal_try(0, times, 1), times.renew_after);
  }
}

TEST(Trust, L5_IsCountedFromTheQuestionNotTheAnswer) {
  const LeaseTimes times = LeaseTimes::of(10s);
  EXPECT_EQ(trusted_until(kAsked, kAsked + 4s, {.left = 10s, .waited = 0s}, times), kAsked + 9s);
}

TEST(Trust, WhatTheStoreKeptUsWaitingIsNoPartOfTheTtl) {
  const LeaseTimes times = LeaseTimes::of(10s);
  EXPECT_EQ(trusted_until(kAsked, kAsked + 4s, {.left = 10s, .waited = 3s}, times), kAsked + 12s);
}

TEST(Trust, L5_AStoreThatClaimsToHaveWaitedLongerThanTheCallIsNotBelieved) {
  const LeaseTimes times = LeaseTimes::of(10s);
  EXPECT_EQ(trusted_until(kAsked, kAsked + 1s, {.left = 10s, .waited = 1h}, times), kAsked + 10s);
}

TEST(Trust, L5_ARepeatIsTrustedOnlyForWhatIsLeft) {
  const LeaseTimes times = LeaseTimes::of(10s);
  EXPECT_EQ(trusted_until(kAsked, kAsked, {.left = 500ms, .waited = 0s}, times), kAsked - 500ms);
}

TEST(Trust, L5_EndsBeforeTheStoreEndsTheLease) {
  // The store grants at any moment between question and answer; trust must end a margin before what it then keeps.
  const LeaseTimes times = LeaseTimes::of(30s);
  for (Duration call = 0s; call <= 5s; call += 500ms) {
    for (Duration granted = 0s; granted <= call; granted += 250ms) {
      for (Duration waited = 0s; waited <= granted; waited += 250ms) {
        const Instant trusted = trusted_until(kAsked, kAsked + call, {.left = 30s, .waited = waited}, times);
        EXPECT_LE(trusted, kAsked + granted + 30s - times.margin);
      }
    }
  }
}

}  // namespace
}  // namespace fenceline
