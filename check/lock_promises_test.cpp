// Each promise of locks: a history that breaks it, and one that is close and lawful.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

HistoryText held_by_a(char guarantee = 'B', bool whole = true) {
  HistoryText history(guarantee, whole);
  history.acquire(10, 12, "a", 5);
  return history;
}

TEST(LockPromises, L1_ARepeatThatAnswersAnotherFenceIsFound) {
  EXPECT_EQ(held_by_a().acquire(20, 21, "a", 6).broken(), "L1");
  EXPECT_EQ(held_by_a().acquire(20, 21, "a", 5).broken(), "");
}

TEST(LockPromises, L1_ARepeatThatCameWhenItsLeaseWasOverIsGrantedAnew) {
  HistoryText history = held_by_a();
  history.acquire(10'020, 10'030, "b", 6, {}, "a")
      .lock_word(10'040, 10'050, Verb::release, "b", 6)
      .acquire(20, 10'070, "a", 7);
  EXPECT_EQ(history.lock_word(10'080, 10'090, Verb::renew, "a", 7).broken(), "");
}

TEST(LockPromises, L1_SomeOfSeveralNamesIsFound) {
  HistoryText history;
  Event both{
      .verb = Verb::acquire, .owner = "a", .request = "r", .ttl = 10'000'000, .locks = {{.id = "l"}, {.id = "m"}}};
  EXPECT_EQ(HistoryText(history)
                .call(1, 2, both, {.kind = Kind::ok, .locks = {{.id = "l", .fence = 5}}, .left = 10'000'000})
                .broken(),
            "L1");
  EXPECT_EQ(
      HistoryText(history)
          .call(1, 2, both,
                {.kind = Kind::ok, .locks = {{.id = "l", .fence = 5}, {.id = "m", .fence = 5}}, .left = 10'000'000})
          .broken(),
      "");
}

TEST(LockPromises, L1_AGrantOfWhatNobodyAskedForIsFoundAndASlotOfItIsLawful) {
  HistoryText history;
  Event one{.verb = Verb::acquire, .owner = "a", .request = "r", .ttl = 10'000'000, .locks = {{.id = "l"}}};
  EXPECT_EQ(HistoryText(history)
                .call(1, 2, one, {.kind = Kind::ok, .locks = {{.id = "m", .fence = 5}}, .left = 10'000'000})
                .broken(),
            "L1");
  EXPECT_EQ(HistoryText(history)
                .call(1, 2, one, {.kind = Kind::ok, .locks = {{.id = "l#3", .fence = 5}}, .left = 10'000'000})
                .broken(),
            "");
}

TEST(LockPromises, L2_ALaterGrantUnderASmallerFenceIsFound) {
  EXPECT_EQ(held_by_a().lock_word(20, 21, Verb::release, "a", 5).acquire(30, 31, "b", 4).broken(), "L2");
  EXPECT_EQ(held_by_a().lock_word(20, 21, Verb::release, "a", 5).acquire(30, 31, "b", 6).broken(), "");
}

TEST(LockPromises, L2_OneFenceForTwoIsFoundUnlessTheyShareIt) {
  EXPECT_EQ(held_by_a().lock_word(20, 21, Verb::release, "a", 5).acquire(30, 31, "b", 5).broken(), "L2");
  HistoryText shared;
  shared.acquire(10, 12, "a", 5, {.shared = true});
  EXPECT_EQ(HistoryText(shared).acquire(20, 21, "b", 5, {.shared = true}).broken(), "");
  EXPECT_EQ(HistoryText(shared).acquire(20, 21, "b", 6).broken(), "L3");
}

TEST(LockPromises, L2_AGrantBelowTheFenceOfABreakIsFound) {
  EXPECT_EQ(held_by_a().break_lock(20, 21, 9).acquire(30, 31, "b", 8).broken(), "L2");
  EXPECT_EQ(held_by_a().break_lock(20, 21, 9).acquire(30, 31, "b", 10).broken(), "");
}

TEST(LockPromises, L2_FencesAreComparedOverClocksToo) {
  HistoryText history = held_by_a();
  Checker checker;
  std::uint32_t number = 0;
  const auto add = [&](const std::string& by, const std::string& clock, const std::string& owner, std::int64_t fence) {
    checker.add({.kind = Kind::recorder, .by = by, .version = 1, .store = "s", .guarantee = "B", .clock = clock},
                {0, ++number});
    checker.add({.kind = Kind::invoke,
                 .by = by,
                 .n = 1,
                 .at = 1,
                 .verb = Verb::acquire,
                 .ns = "n",
                 .owner = owner,
                 .request = owner,
                 .ttl = 1,
                 .locks = {{.id = "l"}}},
                {0, ++number});
    checker.add({.kind = Kind::ok, .by = by, .n = 1, .at = 2, .locks = {{.id = "l", .fence = fence}}}, {0, ++number});
  };
  add("w", "one", "a", 5);
  add("v", "two", "b", 5);
  const Verdict verdict = checker.finish();
  ASSERT_EQ(verdict.violations.size(), 1U);
  EXPECT_EQ(verdict.violations[0].sentence, "lock l was granted to a and to b under one fence, 5");
}

TEST(LockPromises, L3_AGrantWhileAnotherLeaseLastsIsFoundWithTheLinesThatShowIt) {
  HistoryText history = held_by_a();
  history.lock_word(5'000, 5'010, Verb::renew, "a", 5).acquire(14'000, 14'010, "b", 6, {}, "a");
  const Verdict verdict = history.verdict();
  ASSERT_EQ(verdict.violations.size(), 1U);
  EXPECT_EQ(verdict.violations[0].promise, "L3");
  EXPECT_EQ(verdict.violations[0].sentence, "lock l was granted to b under fence 6 while a held it under fence 5");
  ASSERT_EQ(verdict.violations[0].excerpt.size(), 6U);
  EXPECT_EQ(verdict.violations[0].excerpt[0].words, "0.010000s  a: acquire of lock l (request of a)");
  EXPECT_EQ(verdict.violations[0].excerpt[3].words, "5.010000s  w: renew answered ok, 10.000000s left");
  EXPECT_EQ(verdict.violations[0].excerpt[5].words,
            "14.010000s  b: acquire granted lock l under fence 6, taken over from a, 10.000000s left");
  EXPECT_EQ(verdict.locks, 1);
  EXPECT_EQ(verdict.lock_grants, 2);
}

TEST(LockPromises, L3_AGrantThatMayHaveComeJustAfterTheEndIsLawful) {
  EXPECT_EQ(held_by_a().acquire(10'005, 10'012, "b", 6, {}, "a").broken(), "");
}

TEST(LockPromises, L3_AWaiterThatWasGrantedWhenTheHolderReleasedIsLawful) {
  HistoryText history = held_by_a();
  history.acquire(20, 21, "b", 0).lock_word(30, 35, Verb::release, "a", 5).acquire(31, 33, "b", 6);
  EXPECT_EQ(history.broken(), "");
}

TEST(LockPromises, L3_AReleaseWithoutAnAnswerMayHaveHappened) {
  EXPECT_EQ(held_by_a().lock_word(30, 35, Verb::release, "a", 5, "", Kind::unknown).acquire(40, 41, "b", 6).broken(),
            "");
  EXPECT_EQ(held_by_a().lock_word(50, 55, Verb::release, "a", 5, "", Kind::unknown).acquire(40, 41, "b", 6).broken(),
            "L3");
}

TEST(LockPromises, L3_SomebodyWhoIsNotInTheHistoryMayHaveBrokenItUnlessTheGrantSaysThatItRanOut) {
  EXPECT_EQ(held_by_a('B', false).acquire(40, 41, "b", 6).broken(), "");
  EXPECT_EQ(held_by_a('B', false).acquire(40, 41, "b", 6, {}, "a").broken(), "L3");
}

TEST(LockPromises, L4_ARenewalAfterANewerGrantIsFound) {
  HistoryText history = held_by_a();
  history.acquire(10'020, 10'030, "b", 6, {}, "a");
  EXPECT_EQ(HistoryText(history).lock_word(10'040, 10'041, Verb::renew, "a", 5).broken(), "L4");
  EXPECT_EQ(HistoryText(history).lock_word(10'040, 10'041, Verb::release, "a", 5).broken(), "L4");
  EXPECT_EQ(HistoryText(history).lock_word(10'040, 10'041, Verb::renew, "a", 5, "superseded").broken(), "");
}

TEST(LockPromises, L4_ARenewalOfALeaseThatRanOutIsFound) {
  EXPECT_EQ(held_by_a().lock_word(10'020, 10'030, Verb::renew, "a", 5).broken(), "L4");
  EXPECT_EQ(held_by_a().lock_word(10'011, 10'030, Verb::renew, "a", 5).broken(), "");
  HistoryText doubtful = held_by_a();
  doubtful.lock_word(5'000, 5'001, Verb::renew, "a", 5, "", Kind::unknown);
  EXPECT_EQ(doubtful.lock_word(10'020, 10'030, Verb::renew, "a", 5).broken(), "")
      << "one without an answer may have kept it alive";
}

TEST(LockPromises, L4_ARenewalAfterItsReleaseIsFound) {
  EXPECT_EQ(held_by_a().lock_word(20, 21, Verb::release, "a", 5).lock_word(30, 31, Verb::renew, "a", 5).broken(), "L4");
}

TEST(LockPromises, L4_ARenewalByOneWhoNeverHadItIsFound) {
  EXPECT_EQ(held_by_a().lock_word(20, 21, Verb::renew, "b", 5).broken(), "L4");
  HistoryText doubtful = held_by_a();
  doubtful.call(13, 14,
                {.verb = Verb::acquire, .owner = "b", .request = "r", .ttl = 10'000'000, .locks = {{.id = "l"}}},
                {.kind = Kind::unknown});
  EXPECT_EQ(doubtful.lock_word(20, 21, Verb::renew, "b", 5).broken(), "");
}

TEST(LockPromises, L4_ARefusalToTheHolderIsFound) {
  EXPECT_EQ(held_by_a().lock_word(5'000, 5'001, Verb::renew, "a", 5, "expired").broken(), "L4");
  EXPECT_EQ(held_by_a().lock_word(10'005, 10'015, Verb::renew, "a", 5, "expired").broken(), "");
  EXPECT_EQ(held_by_a().break_lock(4'000, 4'001, 9).lock_word(5'000, 5'001, Verb::renew, "a", 5, "superseded").broken(),
            "");
}

TEST(LockPromises, L6_AGrantInsideAWindowIsFoundToItsOwnOwnerToo) {
  HistoryText history;
  history.acquire(10, 12, "a", 5, {.to_its_end = true});
  EXPECT_EQ(HistoryText(history).acquire(5'000, 5'001, "b", 6).broken(), "L6");
  EXPECT_EQ(HistoryText(history).acquire(5'000, 5'001, "a", 6, {.request = "the next"}).broken(), "L6");
  EXPECT_EQ(HistoryText(history).acquire(10'012, 10'013, "b", 6).broken(), "");
  EXPECT_EQ(HistoryText(history).break_lock(20, 21, 6).acquire(30, 31, "b", 7).broken(), "");
}

TEST(LockPromises, L6_ARenewalOrReleaseOfAWindowIsFound) {
  HistoryText history;
  history.acquire(10, 12, "a", 5, {.to_its_end = true});
  EXPECT_EQ(HistoryText(history).lock_word(20, 21, Verb::renew, "a", 5).broken(), "L6");
  EXPECT_EQ(HistoryText(history).lock_word(20, 21, Verb::release, "a", 5).broken(), "L6");
  EXPECT_EQ(HistoryText(history).lock_word(20, 21, Verb::release, "a", 5, "to_its_end").broken(), "");
}

TEST(LockPromises, OrderAloneIsJudgedWhereLeasesRunOnAnotherClock) {
  HistoryText history;
  history.add(
      {.kind = Kind::recorder, .version = 1, .store = "postgres", .guarantee = "B", .clock = "c", .whole = true});
  history.acquire(10, 12, "a", 5);
  EXPECT_EQ(HistoryText(history).acquire(20, 21, "b", 6, {}, "a").broken(), "");
  EXPECT_EQ(HistoryText(history).acquire(20, 21, "b", 6, {}, "a").lock_word(30, 31, Verb::renew, "a", 5).broken(),
            "L4");
}

}  // namespace
}  // namespace fenceline::audit
