#include "base/verdict_text.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

TEST(VerdictText, IsTakenOffAndTheRestStays) {
  EXPECT_EQ(without_verdict("store a.db: busy; nothing was changed"), "store a.db: busy");
  EXPECT_EQ(without_verdict("the answer from db was lost: it may have happened"), "the answer from db was lost");
  EXPECT_EQ(without_verdict("no memory left, nothing was changed; free some"), "no memory left; free some");
  EXPECT_EQ(without_verdict("lost: it may have happened; nothing was changed, try again"), "lost, try again");
  EXPECT_EQ(without_verdict("nothing was changed"), "");
  EXPECT_EQ(without_verdict("held by node-b"), "held by node-b");
  EXPECT_EQ(without_verdict(""), "");
}

}  // namespace
}  // namespace fenceline
