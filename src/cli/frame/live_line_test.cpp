#include "cli/frame/live_line.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

TEST(LiveLine, IsDrawnBelowWhatIsWritten) {
  LiveLine line;
  EXPECT_EQ(line.above("one\n", 80), "one\n") << "nothing is drawn before it is shown";
  EXPECT_EQ(line.show("1 running", 80), "1 running");
  EXPECT_EQ(line.above("two\n", 80), "\r\x1b[Jtwo\n1 running");
  EXPECT_EQ(line.show("0 running", 80), "\r\x1b[J0 running");
}

TEST(LiveLine, IsTakenAwayAtTheEnd) {
  LiveLine line;
  line.show("1 running", 80);
  EXPECT_EQ(line.show("", 80), "\r\x1b[J");
  EXPECT_EQ(line.above("the end\n", 80), "the end\n");
}

TEST(LiveLine, NeverReachesTheLastColumn) {
  LiveLine line;
  EXPECT_EQ(line.show("0123456789", 10), "0123456..");
  EXPECT_EQ(line.show("0123456789", 11), "\r\x1b[J0123456789");
}

// Of 60 columns, 25 a row: three rows, and the cursor is in the last.
TEST(LiveLine, AllItsRowsGoWhenTheWindowBecameNarrow) {
  LiveLine line;
  line.show(std::string(60, 'x'), 80);
  EXPECT_EQ(line.show("short", 25), "\r\x1b[A\x1b[A\x1b[Jshort");
  EXPECT_EQ(line.show("short", 80), "\r\x1b[Jshort");
}

}  // namespace
}  // namespace fenceline::cli
