// Deliveries that an operator ended, and handlers that do not return.
#include <gtest/gtest.h>

#include "services/holdings.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

// As in holdings_test.cpp: told at 44 s, trusted until 54 s, ended by 60 s; a handler told for good has 5 s.
constexpr LeaseTimes kTimes = LeaseTimes::of(60s);
constexpr Instant kStart{1h};
constexpr std::size_t kManyBytes = 1 << 20;

DeliveryPtr make_delivery(std::uint8_t number, Duration timeout = 0s) {
  Job job;
  job.id.bytes[15] = number;
  job.fence = 7;
  job.timeout = timeout;
  return std::make_shared<Delivery>(job, trusted_until(kStart, kStart, {.left = 60s, .waited = 0s}, kTimes),
                                    kStart + 60s);
}

DeliveryPtr start(Holdings& holdings, Instant now = kStart) {
  int given_back = 0;
  return holdings.start_next(now, given_back);
}

TEST(Revoked, ARunningOneIsLostAndKeepsItsPlaceUntilItsHandlerReturned) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  ASSERT_EQ(holdings.revoke({delivery->holding()}, kStart + 1s).size(), 1u);
  EXPECT_TRUE(holdings.revoke({delivery->holding()}, kStart + 2s).empty());  // once
  EXPECT_EQ(holdings.load().running, 1);
  EXPECT_TRUE(holdings.believed().empty());
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);
  EXPECT_TRUE(holdings.stopped(kStart + 2s).empty());
  EXPECT_FALSE(holdings.returned(delivery, {}));
  EXPECT_EQ(holdings.load().total(), 0);
  EXPECT_EQ(holdings.stopped(kStart + 3s), std::vector{delivery->holding()});
  holdings.told_stopped({delivery->holding()});
  EXPECT_TRUE(holdings.stopped(kStart + 3s).empty());
}

TEST(Revoked, OneThatWaitsIsNeverStarted) {
  Holdings holdings(kTimes);
  const DeliveryPtr delivery = make_delivery(1);
  holdings.add(kStart, {delivery});
  EXPECT_EQ(holdings.revoke({delivery->holding()}, kStart + 1s).size(), 1u);
  EXPECT_EQ(start(holdings), nullptr);
  EXPECT_EQ(holdings.stopped(kStart + 1s).size(), 1u);
}

TEST(Revoked, AnOutcomeThatWasNotSentYetIsNotSent) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  holdings.returned(delivery, {});
  EXPECT_EQ(holdings.revoke({delivery->holding()}, kStart + 1s).size(), 1u);
  EXPECT_TRUE(holdings.outcomes(10, kManyBytes).empty());
  EXPECT_EQ(holdings.stopped(kStart + 1s).size(), 1u);
  holdings.settled(delivery->holding());  // an answer that was on its way
  EXPECT_EQ(holdings.load().total(), 0);
}

TEST(Revoked, OneThatWasLostBeforeTellsWhenItsHandlerReturned) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  holdings.overdue(kStart + 54s);
  ASSERT_EQ(holdings.revoke({delivery->holding()}, kStart + 55s).size(), 1u);
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);  // its refusal is known
  EXPECT_TRUE(holdings.stopped(kStart + 55s).empty());
  holdings.returned(delivery, {});
  EXPECT_EQ(holdings.stopped(kStart + 56s).size(), 1u);
}

TEST(Revoked, OneThatIsNotHereHasStopped) {
  Holdings holdings(kTimes);
  EXPECT_TRUE(holdings.revoke({make_delivery(1)->holding()}, kStart).empty());
  EXPECT_EQ(holdings.stopped(kStart).size(), 1u);
}

TEST(Revoked, OneWhoseClaimIsAnsweredLateIsNotTaken) {
  Holdings holdings(kTimes);
  const DeliveryPtr late = make_delivery(1);
  holdings.revoke({late->holding()}, kStart);
  EXPECT_EQ(holdings.add(kStart, {late, make_delivery(2)}), std::vector{late});
  EXPECT_EQ(start(holdings)->job.id.bytes[15], 2);
  EXPECT_EQ(start(holdings), nullptr);
}

TEST(Revoked, NobodyIsToldOfWhatTheStoreHasFreedByItself) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1)});
  const DeliveryPtr delivery = start(holdings);
  holdings.revoke({delivery->holding()}, kStart + 1s);
  holdings.returned(delivery, {});
  EXPECT_EQ(holdings.stopped(kStart + 60s).size(), 1u);
  EXPECT_TRUE(holdings.stopped(kStart + 61s).empty());  // no renewal was granted after the cancel
}

TEST(Timeout, IsCountedFromTheStartAndToldOnce) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 10s)});
  EXPECT_TRUE(holdings.overdue(kStart + 12s).timed_out.empty());  // it waits
  start(holdings, kStart + 12s);
  EXPECT_EQ(holdings.next_deadline(), kStart + 22s);
  EXPECT_TRUE(holdings.overdue(kStart + 21s).timed_out.empty());
  EXPECT_EQ(holdings.overdue(kStart + 22s).timed_out.size(), 1u);
  EXPECT_TRUE(holdings.overdue(kStart + 23s).timed_out.empty());
}

TEST(Timeout, TheLeaseIsRenewedUntilTheHandlerIsGone) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 10s)});
  const DeliveryPtr delivery = start(holdings);
  holdings.overdue(kStart + 10s);
  delivery->trust.cut_at(kStart + 15s, Cut::timed_out);
  EXPECT_EQ(holdings.next_renewal(), kStart + 20s);
  ASSERT_EQ(holdings.begin_renewal(kStart + 20s).live.size(), 1u);
  EXPECT_TRUE(holdings.renewed(delivery, kStart + 20s, 60s));
  EXPECT_TRUE(holdings.overdue(kStart + 30s).lost.empty());
  EXPECT_TRUE(holdings.returned(delivery, {}));
}

TEST(Timeout, OfAHandlerThatReturnedInTimeIsForgotten) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 10s)});
  holdings.returned(start(holdings), {});
  EXPECT_TRUE(holdings.overdue(kStart + 11s).timed_out.empty());
}

TEST(Ignoring, AHandlerThatDoesNotReturnAfterItsTimeoutIsNamedOnce) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 10s)});
  start(holdings);
  holdings.overdue(kStart + 10s);
  EXPECT_EQ(holdings.next_deadline(), kStart + 20s);
  EXPECT_TRUE(holdings.overdue(kStart + 19s).ignoring.empty());
  const Holdings::Overdue overdue = holdings.overdue(kStart + 20s);
  ASSERT_EQ(overdue.ignoring.size(), 1u);
  EXPECT_FALSE(overdue.ignoring.front().lost);
  EXPECT_TRUE(holdings.overdue(kStart + 21s).ignoring.empty());
}

TEST(Ignoring, J8_AHandlerThatHangsPastItsTimeoutIsNotRenewedAndLosesItsLease) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1, 10s)});
  const DeliveryPtr hangs = start(holdings);
  holdings.overdue(kStart + 10s);
  EXPECT_TRUE(holdings.next_renewal());
  holdings.overdue(kStart + 20s);
  EXPECT_FALSE(holdings.next_renewal());
  EXPECT_TRUE(holdings.begin_renewal(kStart + 20s).live.empty());
  EXPECT_FALSE(holdings.renewed(hangs, kStart + 20s, 60s)) << "one under way comes too late";
  EXPECT_EQ(holdings.overdue(kStart + 54s).lost.size(), 1u);
  const Holdings::Overdue overdue = holdings.overdue(kStart + 59s);
  ASSERT_EQ(overdue.ignoring.size(), 1u);
  EXPECT_TRUE(overdue.ignoring.front().lost);
}

TEST(Ignoring, AHandlerThatWorksOnAfterItsLossIsNamedAfterTheGrace) {
  Holdings holdings(kTimes);
  holdings.add(kStart, {make_delivery(1), make_delivery(2), make_delivery(3)});
  const DeliveryPtr refused = start(holdings);
  const DeliveryPtr revoked = start(holdings);
  const DeliveryPtr returns = start(holdings);
  holdings.refused(refused, kStart + 1s);
  holdings.revoke({revoked->holding(), returns->holding()}, kStart + 1s);
  holdings.returned(returns, {});
  EXPECT_TRUE(holdings.overdue(kStart + 5s).ignoring.empty());
  const Holdings::Overdue overdue = holdings.overdue(kStart + 6s);
  ASSERT_EQ(overdue.ignoring.size(), 2u);
  EXPECT_TRUE(overdue.ignoring[0].lost && overdue.ignoring[1].lost);
}

TEST(TrustDeadline, ACutMovesItBackForGood) {
  TrustDeadline trust(kStart + 54s);
  std::vector<Instant> heard;
  trust.listen([&](Instant until) { heard.push_back(until); });
  trust.cut_at(kStart + 10s, Cut::timed_out);
  trust.move_to(kStart + 80s);
  EXPECT_EQ(trust.until(), kStart + 10s);
  EXPECT_EQ(trust.lease_until(), kStart + 80s);
  trust.cut_at(kStart + 20s, Cut::revoked);
  EXPECT_EQ(trust.until(), kStart + 10s);
  EXPECT_EQ(trust.cut(), Cut::revoked);
  for (std::size_t i = 1; i < heard.size(); ++i) EXPECT_EQ(heard[i], kStart + 10s);
  EXPECT_EQ(heard.size(), 4u);
}

}  // namespace
}  // namespace fenceline
