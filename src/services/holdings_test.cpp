#include "services/holdings.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

// A lease of 60 s asked for at kStart: renewed at 20, 30.5 and 41 s, told at 44 s, trusted until 54 s, ended by 60 s.
constexpr LeaseTimes kTimes = LeaseTimes::of(60s);
constexpr Instant kStart{1h};
constexpr std::size_t kManyBytes = 1 << 20;

DeliveryPtr make_delivery(std::uint8_t number, Fence fence = 7, Instant asked_at = kStart) {
  Job job;
  job.id.bytes[15] = number;
  job.fence = fence;
  return std::make_shared<Delivery>(job, trusted_until(asked_at, asked_at, {.left = 60s, .waited = 0s}, kTimes),
                                    asked_at + 60s);
}

DeliveryPtr start(Holdings& holdings, Instant now = kStart) {
  int given_back = 0;
  return holdings.start_next(now, given_back);
}

TEST(Holdings, StartsInTheOrderOfTheClaims) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(9), make_delivery(1)});
  EXPECT_EQ(start(holdings)->job.id.bytes[15], 9);
  EXPECT_EQ(start(holdings)->job.id.bytes[15], 1);
  EXPECT_EQ(start(holdings), nullptr);
}

TEST(Holdings, L5_NothingIsStartedThatWouldBeToldToStopAtOnce) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  int given_back = 0;
  EXPECT_EQ(holdings.start_next(kStart + 44s, given_back), nullptr);
  EXPECT_EQ(given_back, 1);
}

// Nobody has worked under it: giving back needs only the newest fence, so a pause before the start costs no delivery.
TEST(Holdings, J5_WhatWaitedTooLongGoesBackAtNoCostEvenAfterItsTrustEnded) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  int given_back = 0;
  EXPECT_EQ(holdings.start_next(kStart + 61s, given_back), nullptr);
  EXPECT_EQ(given_back, 1);
  EXPECT_TRUE(holdings.overdue(kStart + 61s).lost.empty());
  ASSERT_EQ(holdings.outcomes(10, kManyBytes).size(), 1u);
  EXPECT_EQ(holdings.outcomes(10, kManyBytes).front().outcome.kind, OutcomeKind::given_back);
}

TEST(Holdings, J8_WhatNobodyStartedByItsFirstRenewalGoesBackToBeStartedByAnother) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1), make_delivery(2)});
  const DeliveryPtr runs = start(holdings);
  EXPECT_EQ(holdings.next_deadline(), kStart + 20s);
  EXPECT_EQ(holdings.overdue(kStart + 19s).given_back, 0);
  EXPECT_FALSE(holdings.load().crowded);
  const Holdings::Overdue overdue = holdings.overdue(kStart + 20s);
  EXPECT_EQ(overdue.given_back, 1);
  EXPECT_TRUE(overdue.lost.empty());
  EXPECT_EQ(start(holdings, kStart + 20s), nullptr);
  ASSERT_EQ(holdings.outcomes(10, kManyBytes).size(), 1u);
  EXPECT_EQ(holdings.outcomes(10, kManyBytes).front().outcome.kind, OutcomeKind::given_back);
  EXPECT_TRUE(holdings.load().crowded);  // until a handler returns
  holdings.returned(runs, {});
  EXPECT_FALSE(holdings.load().crowded);
}

TEST(Holdings, RenewsAtTheTriesThatTheTtlGives) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  for (const Duration offset : {Duration{20s}, Duration{30500ms}, Duration{41s}}) {
    EXPECT_EQ(holdings.next_renewal(), kStart + offset);
    EXPECT_EQ(holdings.begin_renewal(kStart + offset).live.size(), 1u);
  }
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);
}

TEST(Holdings, OneSuccessStartsTheTriesOver) {
  Holdings holdings(kTimes);
  const DeliveryPtr delivery = make_delivery(1);
  holdings.add(kStart, {delivery});
  holdings.begin_renewal(kStart + 20s);
  holdings.begin_renewal(kStart + 31s);
  ASSERT_TRUE(holdings.renewed(delivery, kStart + 31s, 60s));
  delivery->trust.move_to(kStart + 31s + 54s);
  EXPECT_EQ(holdings.next_renewal(), kStart + 31s + 20s);
}

TEST(Holdings, TriesThatAPauseSkippedAreOne) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  EXPECT_EQ(holdings.begin_renewal(kStart + 35s).live.size(), 1u);
  EXPECT_EQ(holdings.next_renewal(), kStart + 41s);
}

TEST(Holdings, ARenewalNamesEachJobOnceUnderItsNewestFence) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 7), make_delivery(1, 8), make_delivery(2, 3)});
  const Holdings::Renewal renewal = holdings.begin_renewal(kStart + 20s);
  ASSERT_EQ(renewal.live.size(), 2u);
  EXPECT_EQ(renewal.live[0]->job.fence, 8);
  EXPECT_EQ(renewal.live[1]->job.fence, 3);
  EXPECT_GT(holdings.next_renewal(), kStart + 20s);  // or the loop would spin
}

TEST(Holdings, L5_AHandlerIsToldBeforeTrustEndsAndGivenUpWhenItEnds) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  start(holdings);
  EXPECT_EQ(holdings.next_deadline(), kStart + 44s);
  EXPECT_TRUE(holdings.overdue(kStart + 43s).told.empty());
  const Holdings::Overdue told = holdings.overdue(kStart + 44s);
  EXPECT_EQ(told.told.size(), 1u);
  EXPECT_TRUE(told.lost.empty());
  EXPECT_EQ(holdings.next_deadline(), kStart + 54s);
  const Holdings::Overdue lost = holdings.overdue(kStart + 54s);
  EXPECT_TRUE(lost.told.empty());
  EXPECT_EQ(lost.lost.size(), 1u);
  EXPECT_EQ(holdings.next_deadline(), kStart + 59s);  // by then it shall have returned
  holdings.overdue(kStart + 59s);
  EXPECT_EQ(holdings.next_deadline(), std::nullopt);
}

TEST(Holdings, L4_LostIsFinalEvenIfTheStoreWouldRenew) {
  Holdings holdings(kTimes);
  const DeliveryPtr delivery = make_delivery(1);
  holdings.add(kStart, {delivery});
  start(holdings);
  holdings.overdue(kStart + 54s);
  EXPECT_FALSE(holdings.renewed(delivery, kStart + 54s, 60s));
  EXPECT_TRUE(holdings.begin_renewal(kStart + 55s).live.empty());
  EXPECT_TRUE(holdings.believed().empty());
}

TEST(Holdings, L4_AnAnswerAfterTrustEndedRenewsNothing) {
  Holdings holdings(kTimes);
  const DeliveryPtr delivery = make_delivery(1);
  holdings.add(kStart, {delivery});
  start(holdings);
  ASSERT_EQ(holdings.begin_renewal(kStart + 41s).live.size(), 1u);
  EXPECT_FALSE(holdings.renewed(delivery, kStart + 54s, 60s));
}

TEST(Holdings, AfterTheEndOneLateRenewalIsSentToSeeItsRefusal) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  start(holdings);
  holdings.overdue(kStart + 54s);
  EXPECT_EQ(holdings.next_renewal(), kStart + 60s);
  EXPECT_EQ(holdings.next_end_of_lost(), kStart + 60s);
  EXPECT_TRUE(holdings.begin_renewal(kStart + 59s).late.empty());
  EXPECT_EQ(holdings.begin_renewal(kStart + 60s).late.size(), 1u);
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);
}

TEST(Holdings, ALateRenewalThatFailsIsRepeatedAFewTimes) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  start(holdings);
  holdings.overdue(kStart + 54s);
  int sent = 0;
  for (Instant now = kStart + 60s; holdings.next_renewal(); now += 1s) {
    const Holdings::Renewal renewal = holdings.begin_renewal(now);
    sent += static_cast<int>(renewal.late.size());
    holdings.put_off(renewal.late, now + 1s);
    ASSERT_LT(sent, 100);
  }
  EXPECT_EQ(sent, 5);
}

TEST(Holdings, AfterTheLossTheOutcomeOfAHandlerGoesNowhere) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  holdings.overdue(kStart + 54s);
  EXPECT_EQ(holdings.load().running, 1);  // it has not returned
  EXPECT_FALSE(holdings.returned(delivery, {}));
  EXPECT_TRUE(holdings.outcomes(10, kManyBytes).empty());
  EXPECT_EQ(holdings.load().total(), 0);
}

TEST(Holdings, AnOutcomeKnownBeforeTheLossIsStillSent) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  EXPECT_TRUE(holdings.returned(delivery, {}));
  EXPECT_TRUE(holdings.overdue(kStart + 54s).lost.empty());
  ASSERT_EQ(holdings.outcomes(10, kManyBytes).size(), 1u);
  EXPECT_TRUE(holdings.begin_renewal(kStart + 55s).live.empty());
  holdings.settled(delivery->holding());
  EXPECT_EQ(holdings.load().total(), 0);
}

TEST(Holdings, ARefusedRenewalOfAReturnedHandlerIsNoLoss) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  holdings.begin_renewal(kStart + 20s);
  holdings.returned(delivery, {});
  EXPECT_FALSE(holdings.refused(delivery, kStart + 20s));
  EXPECT_EQ(holdings.outcomes(10, kManyBytes).size(), 1u);
}

TEST(Holdings, ARefusedRenewalOfARunningHandlerIsALossOnce) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  EXPECT_TRUE(holdings.refused(delivery, kStart + 20s));
  EXPECT_FALSE(holdings.refused(delivery, kStart + 20s));
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);
}

TEST(Holdings, OutcomesNameEachJobOnceOldestFenceFirst) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 8), make_delivery(1, 7)});
  holdings.give_back_waiting();
  ASSERT_EQ(holdings.outcomes(10, kManyBytes).size(), 1u);
  EXPECT_EQ(holdings.outcomes(10, kManyBytes).front().fence, 7);
  EXPECT_EQ(holdings.outcomes(10, kManyBytes).front().outcome.kind, OutcomeKind::given_back);
}

TEST(Holdings, OutcomesOfOneCallAreFewIfTheirResultsAreLarge) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1), make_delivery(2), make_delivery(3)});
  for (int i = 0; i < 3; ++i) holdings.returned(start(holdings), {.result = std::string(100, 'x')});
  EXPECT_EQ(holdings.outcomes(10, 250).size(), 2u);
  EXPECT_EQ(holdings.outcomes(10, 1).size(), 1u);  // one goes, however large
}

TEST(Holdings, J5_KnowsThatItHoldsAJobThatMustRunAlone) {
  Holdings holdings(kTimes);
  Job job;
  job.losses_in_row = kLossesBeforeAlone;
  const auto alone = std::make_shared<Delivery>(job, kStart + 54s, kStart + 60s);
  holdings.add(kStart, {make_delivery(1)});
  EXPECT_FALSE(holdings.load().alone);
  holdings.add(kStart, {alone});
  EXPECT_TRUE(holdings.load().alone);
  holdings.give_back_waiting();
  EXPECT_TRUE(holdings.load().alone);  // until it is settled
  holdings.settled(alone->holding());
  EXPECT_FALSE(holdings.load().alone);
}

TEST(Holdings, WhatIsNotRenewedAnyMoreEndsByItsDeadline) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  start(holdings);
  holdings.stop_renewing_running();
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);
  EXPECT_EQ(holdings.next_deadline(), kStart + 44s);
}

}  // namespace
}  // namespace fenceline
