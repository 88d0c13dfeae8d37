#include "cli/frame/time_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

std::string utc(const char* text) {
  const Result<WallTime> time = parse_time(text);
  return time ? format_time(*time) : time.error().message;
}

class TimeText : public testing::Test {
 protected:
  TimeText() {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
  }
  ~TimeText() override {
    ::unsetenv("TZ");
    ::tzset();
  }
};

TEST_F(TimeText, ReadsRfc3339) {
  EXPECT_EQ(utc("2026-11-15T10:00:00Z"), "2026-11-15T10:00:00.000000Z");
  EXPECT_EQ(utc("2026-11-15t10:00:00.5z"), "2026-11-15T10:00:00.500000Z");
  EXPECT_EQ(utc("2026-11-15T12:00:00.1234567+02:00"), "2026-11-15T10:00:00.123456Z");
  EXPECT_EQ(utc("2026-11-15 05:30:00-04:30"), "2026-11-15T10:00:00.000000Z");
  EXPECT_EQ(utc("2028-02-29T23:59:59Z"), "2028-02-29T23:59:59.000000Z");
}

TEST_F(TimeText, ReadsTheTimeOfThisMachinesZone) {
  EXPECT_EQ(utc("2026-11-15 12:00"), "2026-11-15T11:00:00.000000Z");
  EXPECT_EQ(utc("2026-07-15 12:00:30"), "2026-07-15T10:00:30.000000Z");
}

TEST_F(TimeText, AnHourThatOccursTwiceMeansTheFirst) {
  EXPECT_EQ(utc("2026-10-25 02:30"), "2026-10-25T00:30:00.000000Z");
}

TEST_F(TimeText, AnHourThatIsLeftOutIsRefused) {
  EXPECT_NE(utc("2026-03-29 02:30").find("skip it"), std::string::npos) << utc("2026-03-29 02:30");
}

TEST_F(TimeText, NonsenseIsRefused) {
  for (const char* text : {"",
                           "now",
                           "tomorrow",
                           "2026",
                           "2026-11-15",
                           "2026-11-15T",
                           "2026-11-15T10",
                           "2026-11-15T10:00",
                           "2026-11-15T10:00:00",
                           "2026-02-30 10:00",
                           "2026-13-01 10:00",
                           "2026-00-10 10:00",
                           "2026-11-15 24:00",
                           "2026-11-15 10:60",
                           "2026-11-15 10:00:60",
                           "2026-11-15 1:00",
                           "26-11-15 10:00",
                           "2026-11-15T10:00:00+2:00",
                           "2026-11-15T10:00:00+24:00",
                           "2026-11-15T10:00:00Zx",
                           "2026-11-15T10:00:00.Z",
                           "2026-11-15T10:00Z",
                           "1969-12-31T23:59:59Z",
                           "2200-01-01T00:00:00Z",
                           "9999-01-01 00:00",
                           " 2026-11-15 10:00",
                           "2026-11-15  10:00",
                           "-026-11-15 10:00",
                           "1794740627"}) {
    const Result<WallTime> time = parse_time(text);
    ASSERT_FALSE(time) << text;
    EXPECT_NE(time.error().message.find("; write "), std::string::npos);
  }
}

}  // namespace
}  // namespace fenceline::cli
