#include "model/fence.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace fenceline {
namespace {

WallTime at(Fence micros) { return WallTime{Duration{micros}}; }

TEST(Fence, L2_IsLargerThanTheLastWhateverTheClockSays) {
  EXPECT_EQ(next_fence(100, at(50)), 101);
  EXPECT_EQ(next_fence(100, at(100)), 101);
  EXPECT_EQ(next_fence(100, at(101)), 101);
  EXPECT_EQ(next_fence(100, at(-7)), 101);
  EXPECT_EQ(next_fence(0, at(std::numeric_limits<Fence>::min())), 1);
}

TEST(Fence, FollowsTheWallClock) {
  EXPECT_EQ(next_fence(0, at(1'700'000'000'000'000)), 1'700'000'000'000'000);
  EXPECT_EQ(next_fence(100, at(200)), 200);
}

TEST(Fence, EndsAt2To53AndIsRefusedNeverWrapped) {
  EXPECT_EQ(kFenceMax, 9'007'199'254'740'991);
  EXPECT_EQ(next_fence(kFenceMax - 1, at(0)), kFenceMax);
  EXPECT_EQ(next_fence(0, at(kFenceMax)), kFenceMax);
  for (const Result<Fence>& fence :
       {next_fence(kFenceMax, at(0)), next_fence(0, at(kFenceMax + 1)),
        next_fence(std::numeric_limits<Fence>::max(), at(0)), next_fence(0, at(std::numeric_limits<Fence>::max()))}) {
    ASSERT_FALSE(fence);
    EXPECT_EQ(fence.error().code, Code::refused);
  }
}

TEST(Fence, TheLastOneIsExactInADouble) { EXPECT_EQ(static_cast<Fence>(static_cast<double>(kFenceMax)), kFenceMax); }

TEST(Fence, TheClockAloneReachesItInTheYear2255) {
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(at(kFenceMax))};
  EXPECT_EQ(day.year(), std::chrono::year{2255});
}

}  // namespace
}  // namespace fenceline
