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

TEST(DurationText, ReadsSeveralUnitsFromTheLargestToTheSmallest) {
  const DurationRange any{0us, std::chrono::days{366}};
  EXPECT_EQ(parse_duration("1h30m", any), 90min);
  EXPECT_EQ(parse_duration("1d2h3m4s5ms", any), 26h + 3min + 4s + 5ms);
  EXPECT_EQ(parse_duration("1d12h", any), 36h);
  EXPECT_EQ(parse_duration("2m0s", any), 2min);
  EXPECT_EQ(parse_duration("1m500ms", any), 1min + 500ms);
  EXPECT_EQ(parse_duration("1h90m", any), 150min);
}

TEST(DurationText, FractionsAreExactInMicroseconds) {
  const DurationRange any{0us, std::chrono::days{366}};
  EXPECT_EQ(parse_duration("1.5s", any), 1500ms);
  EXPECT_EQ(parse_duration("0.1s", any), 100ms);
  EXPECT_EQ(parse_duration("0.000001s", any), 1us);
  EXPECT_EQ(parse_duration("0.001ms", any), 1us);
  EXPECT_EQ(parse_duration("1.000000000000000000000s", any), 1s);
  EXPECT_EQ(parse_duration("0.29s", any), 290ms);  // a double would say 289999 us
  EXPECT_EQ(parse_duration("1h0.5m", any), 1h + 30s);
  EXPECT_EQ(parse_duration("0.25h", any), 15min);
  EXPECT_EQ(parse_duration("1.0000001h", any), 1h + 360us);
  EXPECT_EQ(parse_duration("365.999999d", any), std::chrono::days{366} - 86'400us);
}

TEST(DurationText, SaysWhatIsWrongWithSeveralNumbers) {
  const auto why = [](std::string_view text, DurationRange range = kDelayRange) {
    const Result<Duration> parsed = parse_duration(text, range);
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_EQ(why("30m1h"),
            "'30m1h' is not a duration: units must go from the largest to the smallest, each once; write numbers with "
            "ms, s, m, h or d, such as 1.5s or 1h30m, from 0s to 366d");
  EXPECT_NE(why("1h1h").find("each once"), std::string::npos);
  EXPECT_NE(why("1.5h30m").find("only the last number may have a fraction"), std::string::npos);
  EXPECT_NE(why("1h30").find("the unit is missing"), std::string::npos);
  EXPECT_NE(why("1h 30m").find("a digit must follow the unit"), std::string::npos);
  EXPECT_NE(why("1.s").find("no digit follows the point"), std::string::npos);
  EXPECT_NE(why(".5s").find("does not start with a digit"), std::string::npos);
  EXPECT_NE(why("1.2.3s").find("unknown unit"), std::string::npos);
  EXPECT_NE(why("0.0000001s").find("finer than a microsecond"), std::string::npos);
  EXPECT_NE(why("0.1234567s").find("finer than a microsecond"), std::string::npos);
  EXPECT_NE(why("23h60.001m", kWaitRange).find("too long"), std::string::npos);
  EXPECT_NE(why("366d0.000001s").find("too long"), std::string::npos);
  EXPECT_NE(why("0.999s", kTtlRange).find("too short"), std::string::npos);
  EXPECT_EQ(parse_duration("23h59.5m", kWaitRange), 24h - 30s);
  EXPECT_EQ(parse_duration("0.5s500ms", kWaitRange).error().code, Code::invalid);
  EXPECT_TRUE(parse_duration("106751991d4h0m54.775807s", {0us, Duration::max()}));
  EXPECT_FALSE(parse_duration("106751991d4h0m54.775808s", {0us, Duration::max()}));
}

TEST(DurationText, RefusesEverythingElse) {
  const std::vector<std::string> bad{"",
                                     "0",
                                     "30",
                                     "s",
                                     "-1s",
                                     "+1s",
                                     "1,5s",
                                     "1 s",
                                     " 1s",
                                     "1s ",
                                     "1s\n",
                                     "1S",
                                     "1sec",
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
