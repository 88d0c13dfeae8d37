#include "base/crash_point.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>

namespace fenceline {
namespace {

TEST(CrashPoint, ThereAreAtLeast25AndEachHasAName) {
  std::set<std::string_view> names;
  for (const CrashPointInfo& info : crash_points()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(find_crash_point(info.name), info.point);
    EXPECT_FALSE(info.meaning.empty());
  }
  EXPECT_GE(names.size(), 25u);
  EXPECT_FALSE(find_crash_point("nowhere"));
  EXPECT_FALSE(find_crash_point(""));
}

TEST(CrashPoint, UnarmedItDoesNothing) {
  for (int i = 0; i < 3; ++i) FENCELINE_CRASH_POINT(claim_before);
  SUCCEED();
}

TEST(CrashPointDeathTest, KillsAtTheNthMeetingOfItsOwnPointOnly) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        arm_crash_point(CrashPoint::claim_before, 2);
        FENCELINE_CRASH_POINT(claim_after);
        FENCELINE_CRASH_POINT(claim_before);
        std::fputs("once", stderr);
        FENCELINE_CRASH_POINT(claim_before);
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGKILL), "once");
}

}  // namespace
}  // namespace fenceline
