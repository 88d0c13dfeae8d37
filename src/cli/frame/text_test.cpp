#include "cli/frame/text.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

TEST(Text, TimesAreRfc3339InUtcWithMicroseconds) {
  EXPECT_EQ(format_time(WallTime{0us}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_time(WallTime{1'700'000'000'000'007us}), "2023-11-14T22:13:20.000007Z");
  EXPECT_EQ(format_time(WallTime{-1us}), "1969-12-31T23:59:59.999999Z");
}

TEST(Text, NothingPrintableMovesACursor) {
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f\xc2\x9b"
                      "c"),
            "a?[31mb???c");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("\xc3\xbc\xc3\xbc\xc3\xbc", 2), "\xc3\xbc\xc3\xbc...");
}

TEST(Text, OneLineHasNoLineEnds) { EXPECT_EQ(one_line("  a\n\n b\tc\r\n"), "a b c"); }

TEST(Text, Base64PadsAsEveryoneDoes) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

TEST(Text, CompactJsonTouchesNoTokens) {
  EXPECT_EQ(compact_json("{ \"a b\" : [ 1e400 , \"x\\\" y\" ] ,\n\"n\": 12345678901234567890.10 }"),
            "{\"a b\":[1e400,\"x\\\" y\"],\"n\":12345678901234567890.10}");
}

TEST(Text, AShortTimeShowsTheDateUnlessItIsToday) {
  using namespace std::chrono_literals;
  const WallTime now{1'794'740'400s};  // 2026-11-15T11:00:00Z
  EXPECT_EQ(short_time(now - 1h, now), "10:00:00Z");
  EXPECT_EQ(short_time(now - 24h, now), "11-14 11:00Z");
  EXPECT_EQ(short_time(now - 365 * 24h, now), "2025-11-15");
}

TEST(Text, WordsAreJoinedAndWhatWasTypedIsQuoted) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a", "b"}), "a,b");
  EXPECT_EQ(joined({"a", "b", "c"}, " or "), "a or b or c");
  EXPECT_EQ(in_quotes("a\x1b[1m"), "'a?[1m'");
  EXPECT_EQ(or_empty(0), "");
  EXPECT_EQ(or_empty(3), "3");
  EXPECT_EQ(or_empty(Duration{0}), "");
}

TEST(BriefDuration, HasAtMostFiveCharacters) {
  using namespace std::chrono_literals;
  EXPECT_EQ(brief_duration(-1s), "0ms");
  EXPECT_EQ(brief_duration(25ms), "25ms");
  EXPECT_EQ(brief_duration(999'999us), "999ms");
  EXPECT_EQ(brief_duration(4s), "4s");
  EXPECT_EQ(brief_duration(4290ms), "4.2s");
  EXPECT_EQ(brief_duration(42'900ms), "42s");
  EXPECT_EQ(brief_duration(100s), "1m");
  EXPECT_EQ(brief_duration(99min), "99m");
  EXPECT_EQ(brief_duration(47h), "47h");
  EXPECT_EQ(brief_duration(48h), "2d");
  EXPECT_EQ(brief_duration(std::chrono::days{4000}), "4000d");
}

}  // namespace
}  // namespace fenceline::cli
