#include "services/store_time.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNoon{1'800'000'000s};
constexpr Instant at(Duration since) { return Instant{since}; }

TEST(StoreTime, IsNeverAheadOfTheStoreHoweverLongTheAnswerTook) {
  StoreTime time;
  EXPECT_FALSE(time.heard(at(10s), at(12s), kNoon));  // read at any moment between the two
  EXPECT_EQ(time.earliest_at(at(12s)), kNoon);
  EXPECT_EQ(time.reached_at(kNoon + 5s), at(17s));
}

TEST(StoreTime, LearnsFromAQuickAnswerAndKeepsItOverASlowOne) {
  StoreTime time;
  time.heard(at(10s), at(10s + 1ms), kNoon);
  time.heard(at(12s), at(14s), kNoon + 3s);  // read a second before it came
  EXPECT_GE(time.earliest_at(at(14s)), kNoon + 4s - 5ms);
  EXPECT_LE(time.earliest_at(at(14s)), kNoon + 4s);
}

TEST(StoreTime, FollowsAClockThatWasSetAhead) {
  StoreTime time;
  time.heard(at(10s), at(10s + 1ms), kNoon);
  EXPECT_FALSE(time.heard(at(20s), at(20s + 1ms), kNoon + 24h));
  EXPECT_EQ(time.earliest_at(at(20s + 1ms)), kNoon + 24h);
}

TEST(StoreTime, SaysSoWhenTheClockWasSetBack) {
  StoreTime time;
  time.heard(at(10s), at(10s + 1ms), kNoon);
  EXPECT_TRUE(time.heard(at(20s), at(20s + 1ms), kNoon));
  EXPECT_EQ(time.earliest_at(at(20s + 1ms)), kNoon);
  EXPECT_FALSE(time.heard(at(21s), at(21s + 1ms), kNoon + 1s));
}

TEST(StoreTime, ClocksThatGoApartALittleAreNoJump) {
  StoreTime time;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(time.heard(at(i * 10s), at(i * 10s + 1ms), kNoon + i * (10s - 1ms)));
  EXPECT_LE(time.earliest_at(at(9990s + 1ms)), kNoon + 999 * (10s - 1ms) + 1ms);
}

}  // namespace
}  // namespace fenceline
