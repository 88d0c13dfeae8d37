// Deliveries that an operator ended, and handlers that do not return.
#include <gtest/gtest.h>

#include "services/holdings.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

// As in holdings_test.cpp: told at 44 s, trusted until 54 s, ended by 60 s; a handler told for good has 5 s.
constexpr LeaseTimes kRevokedTimes = LeaseTimes::of(60s);
constexpr Instant kRevokedStart{1h};
constexpr std::size_t kRevokedBytes = 1 << 20;

DeliveryPtr make_revoked(std::uint8_t number, Duration timeout = 0s) {
  Job job;
  job.id.bytes[15] = number;
  job.fence = 7;
  job.timeout = timeout;
  return std::make_shared<Delivery>(
      job, trusted_until(kRevokedStart, kRevokedStart, {.left = 60s, .waited = 0s}, kRevokedTimes),
      kRevokedStart + 60s);
}

DeliveryPtr start_revoked(Holdings& holdings, Instant now = kRevokedStart) {
  int given_back = 0;
  return holdings.start_next(now, given_back);
}

TEST(Revoked, ARunningOneIsLostAndKeepsItsPlaceUntilItsHandlerReturned) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1)});
  const DeliveryPtr delivery = start_revoked(holdings);
  ASSERT_EQ(holdings.revoke({delivery->holding()}, kRevokedStart + 1s).size(), 1u);
  EXPECT_TRUE(holdings.revoke({delivery->holding()}, kRevokedStart + 2s).empty());  // once
  EXPECT_EQ(holdings.load().running, 1);
  EXPECT_TRUE(holdings.believed().empty());
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);
  EXPECT_TRUE(holdings.stopped(kRevokedStart + 2s).empty());
  EXPECT_FALSE(holdings.returned(delivery, {}));
  EXPECT_EQ(holdings.load().total(), 0);
  EXPECT_EQ(holdings.stopped(kRevokedStart + 3s), std::vector{delivery->holding()});
  holdings.told_stopped({delivery->holding()});
  EXPECT_TRUE(holdings.stopped(kRevokedStart + 3s).empty());
}

TEST(Revoked, OneThatWaitsIsNeverStarted) {
  Holdings holdings(kRevokedTimes);
  const DeliveryPtr delivery = make_revoked(1);
  holdings.add(kRevokedStart, {delivery});
  EXPECT_EQ(holdings.revoke({delivery->holding()}, kRevokedStart + 1s).size(), 1u);
  EXPECT_EQ(start_revoked(holdings), nullptr);
  EXPECT_EQ(holdings.stopped(kRevokedStart + 1s).size(), 1u);
}

TEST(Revoked, AnOutcomeThatWasNotSentYetIsNotSent) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1)});
  const DeliveryPtr delivery = start_revoked(holdings);
  holdings.returned(delivery, {});
  EXPECT_EQ(holdings.revoke({delivery->holding()}, kRevokedStart + 1s).size(), 1u);
  EXPECT_TRUE(holdings.outcomes(10, kRevokedBytes).empty());
  EXPECT_EQ(holdings.stopped(kRevokedStart + 1s).size(), 1u);
  holdings.settled(delivery->holding());  // an answer that was on its way
  EXPECT_EQ(holdings.load().total(), 0);
}

TEST(Revoked, OneThatWasLostBeforeTellsWhenItsHandlerReturned) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1)});
  const DeliveryPtr delivery = start_revoked(holdings);
  holdings.overdue(kRevokedStart + 54s);
  ASSERT_EQ(holdings.revoke({delivery->holding()}, kRevokedStart + 55s).size(), 1u);
  EXPECT_EQ(holdings.next_renewal(), std::nullopt);  // its refusal is known
  EXPECT_TRUE(holdings.stopped(kRevokedStart + 55s).empty());
  holdings.returned(delivery, {});
  EXPECT_EQ(holdings.stopped(kRevokedStart + 56s).size(), 1u);
}

TEST(Revoked, OneThatIsNotHereHasStopped) {
  Holdings holdings(kRevokedTimes);
  EXPECT_TRUE(holdings.revoke({make_revoked(1)->holding()}, kRevokedStart).empty());
  EXPECT_EQ(holdings.stopped(kRevokedStart).size(), 1u);
}

TEST(Revoked, OneWhoseClaimIsAnsweredLateIsNotTaken) {
  Holdings holdings(kRevokedTimes);
  const DeliveryPtr late = make_revoked(1);
  holdings.revoke({late->holding()}, kRevokedStart);
  EXPECT_EQ(holdings.add(kRevokedStart, {late, make_revoked(2)}), std::vector{late});
  EXPECT_EQ(start_revoked(holdings)->job.id.bytes[15], 2);
  EXPECT_EQ(start_revoked(holdings), nullptr);
}

TEST(Revoked, NobodyIsToldOfWhatTheStoreHasFreedByItself) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1)});
  const DeliveryPtr delivery = start_revoked(holdings);
  holdings.revoke({delivery->holding()}, kRevokedStart + 1s);
  holdings.returned(delivery, {});
  EXPECT_EQ(holdings.stopped(kRevokedStart + 60s).size(), 1u);
  EXPECT_TRUE(holdings.stopped(kRevokedStart + 61s).empty());  // no renewal was granted after the cancel
}

TEST(Timeout, IsCountedFromTheStartAndToldOnce) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1, 10s)});
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 12s).timed_out.empty());  // it waits
  start_revoked(holdings, kRevokedStart + 12s);
  EXPECT_EQ(holdings.next_deadline(), kRevokedStart + 22s);
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 21s).timed_out.empty());
  EXPECT_EQ(holdings.overdue(kRevokedStart + 22s).timed_out.size(), 1u);
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 23s).timed_out.empty());
}

TEST(Timeout, TheLeaseIsRenewedUntilTheHandlerIsGone) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1, 10s)});
  const DeliveryPtr delivery = start_revoked(holdings);
  holdings.overdue(kRevokedStart + 10s);
  delivery->trust.cut_at(kRevokedStart + 15s, Cut::timed_out);
  EXPECT_EQ(holdings.next_renewal(), kRevokedStart + 20s);
  ASSERT_EQ(holdings.begin_renewal(kRevokedStart + 20s).live.size(), 1u);
  EXPECT_TRUE(holdings.renewed(delivery, kRevokedStart + 20s, 60s));
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 30s).lost.empty());
  EXPECT_TRUE(holdings.returned(delivery, {}));
}

TEST(Timeout, OfAHandlerThatReturnedInTimeIsForgotten) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1, 10s)});
  holdings.returned(start_revoked(holdings), {});
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 11s).timed_out.empty());
}

TEST(Ignoring, AHandlerThatDoesNotReturnAfterItsTimeoutIsNamedOnce) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1, 10s)});
  start_revoked(holdings);
  holdings.overdue(kRevokedStart + 10s);
  EXPECT_EQ(holdings.next_deadline(), kRevokedStart + 20s);
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 19s).ignoring.empty());
  const Holdings::Overdue overdue = holdings.overdue(kRevokedStart + 20s);
  ASSERT_EQ(overdue.ignoring.size(), 1u);
  EXPECT_FALSE(overdue.ignoring.front().lost);
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 21s).ignoring.empty());
}

TEST(Ignoring, J8_AHandlerThatHangsPastItsTimeoutIsNotRenewedAndLosesItsLease) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1, 10s)});
  const DeliveryPtr hangs = start_revoked(holdings);
  holdings.overdue(kRevokedStart + 10s);
  EXPECT_TRUE(holdings.next_renewal());
  holdings.overdue(kRevokedStart + 20s);
  EXPECT_FALSE(holdings.next_renewal());
  EXPECT_TRUE(holdings.begin_renewal(kRevokedStart + 20s).live.empty());
  EXPECT_FALSE(holdings.renewed(hangs, kRevokedStart + 20s, 60s)) << "one under way comes too late";
  EXPECT_EQ(holdings.overdue(kRevokedStart + 54s).lost.size(), 1u);
  const Holdings::Overdue overdue = holdings.overdue(kRevokedStart + 59s);
  ASSERT_EQ(overdue.ignoring.size(), 1u);
  EXPECT_TRUE(overdue.ignoring.front().lost);
}

TEST(Ignoring, AHandlerThatWorksOnAfterItsLossIsNamedAfterTheGrace) {
  Holdings holdings(kRevokedTimes);
  holdings.add(kRevokedStart, {make_revoked(1), make_revoked(2), make_revoked(3)});
  const DeliveryPtr refused = start_revoked(holdings);
  const DeliveryPtr revoked = start_revoked(holdings);
  const DeliveryPtr returns = start_revoked(holdings);
  holdings.refused(refused, kRevokedStart + 1s);
  holdings.revoke({revoked->holding(), returns->holding()}, kRevokedStart + 1s);
  holdings.returned(returns, {});
  EXPECT_TRUE(holdings.overdue(kRevokedStart + 5s).ignoring.empty());
  const Holdings::Overdue overdue = holdings.overdue(kRevokedStart + 6s);
  ASSERT_EQ(overdue.ignoring.size(), 2u);
  EXPECT_TRUE(overdue.ignoring[0].lost && overdue.ignoring[1].lost);
}

TEST(TrustDeadline, ACutMovesItBackForGood) {
  TrustDeadline trust(kRevokedStart + 54s);
  std::vector<Instant> heard;
  trust.listen([&](Instant until) { heard.push_back(until); });
  trust.cut_at(kRevokedStart + 10s, Cut::timed_out);
  trust.move_to(kRevokedStart + 80s);
  EXPECT_EQ(trust.until(), kRevokedStart + 10s);
  EXPECT_EQ(trust.lease_until(), kRevokedStart + 80s);
  trust.cut_at(kRevokedStart + 20s, Cut::revoked);
  EXPECT_EQ(trust.until(), kRevokedStart + 10s);
  EXPECT_EQ(trust.cut(), Cut::revoked);
  for (std::size_t i = 1; i < heard.size(); ++i) EXPECT_EQ(heard[i], kRevokedStart + 10s);
  EXPECT_EQ(heard.size(), 4u);
}

}  // namespace
}  // namespace fenceline
