#include "cli/frame/live_line.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

std::string drawn(const std::string& text) { return "\x1b[?7l" + text + "\x1b[?7h"; }

TEST(LiveLine, IsDrawnBelowWhatIsWritten) {
  LiveLine line;
  EXPECT_EQ(line.above("one\n", 80), "one\n") << "nothing is drawn before it is shown";
  EXPECT_EQ(line.show("1 running", 80), drawn("1 running"));
  EXPECT_EQ(line.above("two\n", 80), "\r\x1b[Jtwo\n" + drawn("1 running"));
  EXPECT_EQ(line.show("0 running", 80), "\r\x1b[J" + drawn("0 running"));
}

TEST(LiveLine, IsTakenAwayAtTheEnd) {
  LiveLine line;
  line.show("1 running", 80);
  EXPECT_EQ(line.show("", 80), "\r\x1b[J");
  EXPECT_EQ(line.above("the end\n", 80), "the end\n");
}

TEST(LiveLine, NeverReachesTheLastColumn) {
  LiveLine line;
  EXPECT_EQ(line.show("0123456789", 10), drawn("0123456.."));
  EXPECT_EQ(line.show("0123456789", 11), "\r\x1b[J" + drawn("0123456789"));
}

// Of 60 columns, 25 a row: three rows, and the cursor is in the last.
TEST(LiveLine, AllItsRowsGoWhenTheWindowBecameNarrow) {
  LiveLine line;
  line.show(std::string(60, 'x'), 80);
  EXPECT_EQ(line.show("short", 25), "\r\x1b[A\x1b[A\x1b[J" + drawn("short"));
  EXPECT_EQ(line.show("short", 80), "\r\x1b[J" + drawn("short"));
}

}  // namespace
}  // namespace fenceline::cli
