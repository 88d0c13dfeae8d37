// Each promise of leases: a history that breaks it, and one that is close and lawful.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

HistoryText lease_granted_to_a() {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"}).claim(10, 12, "a", {.id = "j", .fence = 5});
  return history;
}

TEST(LeasePromises, L1_ARefusalThatNamesAFenceOlderThanItsGrantIsFound) {
  EXPECT_EQ(lease_granted_to_a().refused(20, 21, Verb::extend, "a", "j", 5, "superseded", 4).broken(), "L1");
}

TEST(LeasePromises, L1_AnOutcomeUnderAFenceThatNobodyHadIsFound) {
  EXPECT_EQ(lease_granted_to_a().settle(20, 21, "a", "j", 6).broken(), "L1");
}

TEST(LeasePromises, L1_ARefusalThatNamesALaterGrantIsLawful) {
  HistoryText history = lease_granted_to_a();
  history.claim(10'020, 10'030, "b", {.id = "j", .fence = 9, .deliveries = 2, .losses_in_row = 1, .forced = true});
  EXPECT_EQ(history.refused(10'040, 10'041, Verb::settle, "a", "j", 5, "superseded", 9).broken(), "");
}

TEST(LeasePromises, L2_ALaterGrantUnderASmallerFenceIsFound) {
  EXPECT_EQ(lease_granted_to_a()
                .settle(20, 21, "a", "j", 5, "later")
                .claim(30, 31, "b", {.id = "j", .fence = 4, .deliveries = 2})
                .broken(),
            "L2");
}

TEST(LeasePromises, L2_TheSameFenceTwiceIsFound) {
  EXPECT_EQ(lease_granted_to_a()
                .settle(20, 21, "a", "j", 5, "later")
                .claim(30, 31, "b", {.id = "j", .fence = 5, .deliveries = 2})
                .broken(),
            "L2");
}

TEST(LeasePromises, L2_AFencePast2To53IsFound) {
  HistoryText history;
  EXPECT_EQ(history.enqueue(0, 1, {.id = "j"}).claim(2, 3, "a", {.id = "j", .fence = std::int64_t{1} << 53}).broken(),
            "L2");
}

TEST(LeasePromises, L2_AGroupWhoseFencesGoBackIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j", .group = "g"}).enqueue(2, 3, {.id = "k", .group = "g"});
  history.claim(10, 11, "a", {.id = "j", .group = "g", .fence = 9}).settle(12, 13, "a", "j", 9);
  EXPECT_EQ(HistoryText(history).claim(20, 21, "a", {.id = "k", .group = "g", .fence = 8}).broken(), "L2");
  EXPECT_EQ(HistoryText(history).claim(20, 21, "a", {.id = "k", .group = "g", .fence = 10}).broken(), "");
}

TEST(LeasePromises, L3_AGrantWhileAnotherLeaseLastsIsFoundWithTheLinesThatShowIt) {
  HistoryText history = lease_granted_to_a();
  history.extend(5'000, 5'010, "a", "j", 5)
      .claim(14'000, 14'010, "b", {.id = "j", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true});
  const Verdict verdict = history.verdict();
  ASSERT_EQ(verdict.violations.size(), 1U);
  EXPECT_EQ(verdict.violations[0].promise, "L3");
  EXPECT_EQ(verdict.violations[0].sentence, "job j was granted to b under fence 6 while a held it under fence 5");
  std::vector<std::uint32_t> lines;
  for (const ExcerptLine& line : verdict.violations[0].excerpt) lines.push_back(line.line.number);
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{4, 5, 6, 7, 8, 9}));  // the claim, its renewal, the other claim
}

TEST(LeasePromises, L3_AGrantThatMayHaveComeJustAfterTheEndIsLawful) {
  // Asked at 9.9 s, answered at 10.05 s: the lease of 10 s was granted between 10 and 12 ms.
  EXPECT_EQ(lease_granted_to_a()
                .claim(9'900, 10'050, "b", {.id = "j", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true})
                .broken(),
            "");
}

TEST(LeasePromises, L3_WhatTheStoreKeptWaitingIsNoPartOfTheLease) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  history.call(10, 3'000,
               {.verb = Verb::claim, .owner = "a", .request = "r", .queues = {"q"}, .limit = 1, .ttl = 10'000'000},
               {.jobs = {{.id = "j", .queue = "q", .attempts = 10, .fence = 5, .left = 10'000'000, .deliveries = 1}},
                .waited = 2'500'000});
  const history::JobPart next{.id = "j", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true};
  EXPECT_EQ(HistoryText(history).claim(12'000, 12'400, "b", next).broken(), "L3");
  EXPECT_EQ(HistoryText(history).claim(12'000, 12'600, "b", next).broken(), "");
}

TEST(LeasePromises, L3_ALeaseThatWasSettledMayBeGrantedAtOnce) {
  EXPECT_EQ(lease_granted_to_a()
                .settle(20, 21, "a", "j", 5, "later")
                .claim(22, 23, "b", {.id = "j", .fence = 6, .deliveries = 2})
                .broken(),
            "");
}

TEST(LeasePromises, L3_AnOutcomeWithoutAnAnswerMayHaveEndedALease) {
  HistoryText history = lease_granted_to_a();
  history.call(20, 90, {.verb = Verb::settle, .owner = "a", .jobs = {{.id = "j", .fence = 5, .outcome = "later"}}},
               {.kind = Kind::unknown, .code = "in_doubt"});
  EXPECT_EQ(history.claim(30, 31, "b", {.id = "j", .fence = 6, .deliveries = 2}).broken(), "");
}

TEST(LeasePromises, L3_AGrantForLongerThanTheTtlIsFound) {
  HistoryText history;
  EXPECT_EQ(history.enqueue(0, 1, {.id = "j"}).claim(2, 3, "a", {.id = "j", .fence = 5, .left = 11'000'000}).broken(),
            "L3");
}

TEST(LeasePromises, L4_ARenewalAfterTheEndIsFound) {
  EXPECT_EQ(lease_granted_to_a().extend(10'100, 10'110, "a", "j", 5).broken(), "L4");
  EXPECT_EQ(lease_granted_to_a().extend(9'990, 10'110, "a", "j", 5).broken(), "");
}

TEST(LeasePromises, L4_ARenewalAfterARefusalAsExpiredIsFound) {
  EXPECT_EQ(lease_granted_to_a()
                .extend(5'000, 5'010, "a", "j", 5)
                .refused(15'000, 15'500, Verb::extend, "a", "j", 5, "expired", 5)
                .broken(),
            "");
  EXPECT_EQ(lease_granted_to_a()
                .refused(9'000, 10'500, Verb::extend, "a", "j", 5, "expired", 5)
                .extend(9'000, 10'600, "a", "j", 5)
                .broken(),
            "L4");
  EXPECT_EQ(lease_granted_to_a()
                .refused(9'900, 10'011, Verb::extend, "a", "j", 5, "expired", 5)
                .extend(10'012, 10'020, "a", "j", 5)
                .broken(),
            "L4");
}

TEST(LeasePromises, L4_ARenewalForAnotherOrUnderAnOlderFenceIsFound) {
  EXPECT_EQ(lease_granted_to_a().extend(20, 21, "b", "j", 5).broken(), "L4");
  HistoryText taken_over = lease_granted_to_a();
  taken_over.claim(10'020, 10'030, "b", {.id = "j", .fence = 9, .deliveries = 2, .losses_in_row = 1, .forced = true});
  EXPECT_EQ(HistoryText(taken_over).extend(10'040, 10'050, "a", "j", 5).broken(), "L4");
  EXPECT_EQ(HistoryText(taken_over).extend(10'040, 10'050, "b", "j", 9).broken(), "");
}

TEST(LeasePromises, L4_ALiveHolderThatIsRefusedIsFound) {
  EXPECT_EQ(lease_granted_to_a().refused(20, 21, Verb::extend, "a", "j", 5, "expired", 5).broken(), "L4");
  EXPECT_EQ(lease_granted_to_a().refused(9'000, 10'500, Verb::extend, "a", "j", 5, "expired", 5).broken(), "");
}

TEST(LeasePromises, L4_ARenewalWithoutAnAnswerMayHaveMovedTheEnd) {
  HistoryText history = lease_granted_to_a();
  history.call(9'000, 9'500, {.verb = Verb::extend, .owner = "a", .ttl = 10'000'000, .jobs = {{.id = "j", .fence = 5}}},
               {.kind = Kind::unknown});
  EXPECT_EQ(history.extend(15'000, 15'001, "a", "j", 5).broken(), "");
  EXPECT_EQ(lease_granted_to_a().extend(15'000, 15'001, "a", "j", 5).broken(), "L4");
  // Sent in the moment in which the claim was answered.
  HistoryText at_once = lease_granted_to_a();
  at_once.call(12, 9'500, {.verb = Verb::extend, .owner = "a", .ttl = 10'000'000, .jobs = {{.id = "j", .fence = 5}}},
               {.kind = Kind::unknown});
  EXPECT_EQ(at_once.extend(15'000, 15'001, "a", "j", 5).broken(), "");
}

TEST(LeasePromises, L5_AHandlerThatActsAfterItsLeaseOrUnderAnOlderFenceIsFound) {
  EXPECT_EQ(lease_granted_to_a().handler(10'100, Kind::acted, "a", "j", 5).broken(), "L5");
  EXPECT_EQ(lease_granted_to_a().handler(10'011, Kind::acted, "a", "j", 5).broken(), "");
  EXPECT_EQ(lease_granted_to_a().handler(10'100, Kind::ended, "a", "j", 5).broken(), "");
  HistoryText again = lease_granted_to_a();
  again.settle(20, 21, "a", "j", 5, "later").claim(30, 31, "b", {.id = "j", .fence = 6, .deliveries = 2});
  EXPECT_EQ(HistoryText(again).handler(40, Kind::acted, "a", "j", 5).broken(), "L5");
  EXPECT_EQ(HistoryText(again).handler(40, Kind::acted, "b", "j", 6).broken(), "");
}

// The clock of leases is another one: only the order is known.
TEST(LeasePromises, L3_WithoutTheClockOfLeasesOnlyTheOrderCounts) {
  HistoryText history;
  history.add({.kind = Kind::recorder,
               .version = 1,
               .store = "test",
               .guarantee = "B",
               .clock = "c",
               .store_clock = "other",
               .whole = true});
  history.enqueue(0, 1, {.id = "j"}).claim(10, 12, "a", {.id = "j", .fence = 5});
  history.claim(20, 21, "b", {.id = "j", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true});
  EXPECT_EQ(HistoryText(history).broken(), "");
  EXPECT_EQ(HistoryText(history).extend(30, 31, "a", "j", 5).broken(), "L4");
}

}  // namespace
}  // namespace fenceline::audit
