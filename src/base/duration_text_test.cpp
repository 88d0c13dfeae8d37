#include "base/duration_text.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, ReadsWholeNumbersWithAUnit) {
  const DurationRange any{0us, std::chrono::days{366}};
  EXPECT_EQ(parse_duration("0s", any), 0s);
  EXPECT_EQ(parse_duration("1500ms", any), 1500ms);
  EXPECT_EQ(parse_duration("30s", any), 30s);
  EXPECT_EQ(parse_duration("5m", any), 5min);
  EXPECT_EQ(parse_duration("24h", any), 24h);
  EXPECT_EQ(parse_duration("366d", any), std::chrono::days{366});
  EXPECT_EQ(parse_duration("007s", any), 7s);
}

TEST(DurationText, RefusesEverythingElse) {
  const std::vector<std::string> bad{"",
                                     "0",
                                     "30",
                                     "s",
                                     "-1s",
                                     "+1s",
                                     "1.5s",
                                     "1,5s",
                                     "1 s",
                                     " 1s",
                                     "1s ",
                                     "1s\n",
                                     "1S",
                                     "1sec",
                                     "1h30m",
                                     "1us",
                                     "1w",
                                     "1ns",
                                     "1e3s",
                                     "9e99h",
                                     "0x10s",
                                     "inf",
                                     "nan",
                                     "infinity",
                                     "\xd9\xa1s",
                                     "\xef\xbc\x91s",
                                     "1\xce\xbcs",
                                     "1\xff",
                                     std::string("1s\0", 3),
                                     std::string("\0", 1),
                                     "99999999999999999999s",
                                     "9223372036854775807d",
                                     "9223372036854775808ms"};
  for (const std::string& text : bad) {
    const Result<Duration> parsed = parse_duration(text, {0us, std::chrono::days{366}});
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid);
  }
}

TEST(DurationText, RefusesABadTtlWithOneLineThatSaysWhatIsAllowed) {
  for (const std::string text :
       {"0", "0s", "-1s", "500ms", "999ms", "9e99h", "400d", "25h", "86401s", "106751991167300641d"}) {
    const Result<Duration> parsed = parse_duration(text, kTtlRange);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find("from 1s to 1d"), std::string::npos) << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(parse_duration("1s", kTtlRange), 1s);
  EXPECT_EQ(parse_duration("1000ms", kTtlRange), 1s);
  EXPECT_EQ(parse_duration("1d", kTtlRange), 24h);
}

TEST(DurationText, HoldsTheEndsOfEveryRange) {
  EXPECT_EQ(parse_duration("0ms", kDelayRange), 0s);
  EXPECT_FALSE(parse_duration("367d", kDelayRange));
  EXPECT_EQ(parse_duration("30d", kTimeoutRange), std::chrono::days{30});
  EXPECT_FALSE(parse_duration("31d", kTimeoutRange));
  EXPECT_FALSE(parse_duration("0s", kTimeoutRange));
  EXPECT_EQ(parse_duration("24h", kWaitRange), 24h);
  EXPECT_FALSE(parse_duration("1441m", kWaitRange));
}

TEST(DurationText, ShowsHostileInputShortAndPrintable) {
  const Result<Duration> parsed = parse_duration("\x1b[2J\n" + std::string(10'000, '9'), kTtlRange);
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 250u);
  for (const char c : parsed.error().message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

TEST(DurationText, WritesTheShortestExactForm) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(30s), "30s");
  EXPECT_EQ(format_duration(90min), "90m");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(1us), "1ms");
  EXPECT_EQ(format_duration(1001us), "2ms");
  EXPECT_EQ(format_duration(-30s), "-30s");
}

TEST(DurationText, ReadsWhatItWrites) {
  for (const Duration duration : std::vector<Duration>{0s, 1ms, 999ms, 1s, 59s, 60s, 61s, 3600s, 86'400s, 86'401s}) {
    EXPECT_EQ(parse_duration(format_duration(duration), kDelayRange), duration);
  }
}

TEST(DurationText, TheLongestAndTheShortestCanBeShown) {
  EXPECT_EQ(format_duration(Duration::max()), "9223372036854776ms");
  EXPECT_EQ(format_duration(Duration::min()), "-9223372036854776ms");
}

}  // namespace
}  // namespace fenceline
