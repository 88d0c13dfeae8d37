#include "tracker/hints.hpp"

#include <gtest/gtest.h>

namespace fenceline::tracker {
namespace {

using namespace std::chrono_literals;
using Items = std::vector<ItemId>;

constexpr Instant kNow{1000h};
constexpr WallTime kThen{std::chrono::days{20'000}};

TEST(Hints, AnItemThatIsNotShownYetIsLookedAtAgainForThreeMinutesAndNoLonger) {
  Hints hints;
  hints.heard("17", kNow);
  std::vector<Duration> looks;
  for (Instant at = kNow; (at = hints.next(at)) != Instant::max();) {
    ASSERT_EQ(hints.due(at), Items{"17"});
    looks.push_back(at - kNow);
    hints.shown("17", std::nullopt, std::nullopt);
  }
  EXPECT_EQ(looks, (std::vector<Duration>{0s, 10s, 30s, 90s, 180s}));
}

TEST(Hints, OneThatShowsSomethingNewerIsDoneWith) {
  Hints hints;
  hints.heard("17", kNow);
  EXPECT_EQ(hints.due(kNow), Items{"17"});
  hints.shown("17", kThen, kThen);  // as it was
  EXPECT_EQ(hints.next(kNow), kNow + 10s);
  EXPECT_EQ(hints.due(kNow + 10s), Items{"17"});
  hints.shown("17", kThen + 1s, kThen);
  EXPECT_EQ(hints.next(kNow + 10s), Instant::max());
}

// Of one that nobody knew the first look may be the old one.
TEST(Hints, AnUnknownOneIsWatchedUntilItChangesAfterItsFirstLook) {
  Hints hints;
  hints.heard("17", kNow);
  hints.shown("17", kThen, std::nullopt);
  EXPECT_NE(hints.next(kNow), Instant::max());
  hints.shown("17", kThen, kThen);
  EXPECT_NE(hints.next(kNow), Instant::max());
  hints.shown("17", kThen + 1s, kThen);
  EXPECT_EQ(hints.next(kNow), Instant::max());
}

TEST(Hints, HeardOfAgainItBeginsAnewButIsNotPutOff) {
  Hints hints;
  hints.heard("17", kNow);
  hints.heard("17", kNow + 5s);
  EXPECT_EQ(hints.next(kNow), kNow);
  hints.shown("17", std::nullopt, std::nullopt);
  hints.shown("17", std::nullopt, std::nullopt);
  hints.heard("17", kNow + 60s);
  EXPECT_EQ(hints.next(kNow), kNow + 60s);
  hints.shown("17", std::nullopt, std::nullopt);
  hints.heard("17", kNow + 61s);
  EXPECT_EQ(hints.next(kNow), kNow + 70s);
  hints.forget("17");
  EXPECT_EQ(hints.next(kNow), Instant::max());
}

TEST(Hints, WhatNobodyHasLookedAtYetGoesFirst) {
  Hints hints;
  for (int i = 0; i < 40; ++i) hints.heard("old " + std::to_string(i), kNow);
  for (int i = 0; i < 40; ++i) hints.shown("old " + std::to_string(i), std::nullopt, std::nullopt);
  hints.heard("new", kNow + 20s);
  EXPECT_EQ(hints.due(kNow + 20s).front(), "new");
}

TEST(Hints, AStormOfThemIsBoundedInMemoryAndInLooks) {
  Hints hints;
  for (int i = 0; i < 5000; ++i) hints.heard(std::to_string(i), kNow);
  std::size_t looks = 0;
  for (Instant at = kNow; at < kNow + 10min; at += 1s) {
    for (const ItemId& item : hints.due(at)) {
      ++looks;
      hints.shown(item, std::nullopt, std::nullopt);
    }
  }
  EXPECT_EQ(looks, 10U * kHintLooksAMinute);
  EXPECT_GT(hints.next(kNow + 10min), kNow + 9min);
  std::size_t held = 0;
  for (int i = 0; i < 5000; ++i) {
    const Instant before = hints.next(kNow + 10min);
    hints.forget(std::to_string(i));
    held += before != Instant::max() ? 1 : 0;
  }
  EXPECT_LE(held, kHintsMost);
}

}  // namespace
}  // namespace fenceline::tracker
