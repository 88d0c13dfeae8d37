#include "store/reason.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

TEST(Reason, EachHasAWordOfItsOwn) {
  for (int i = 0; i <= static_cast<int>(Reason::other); ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_EQ(reason_from(to_string(reason)), reason);
    EXPECT_EQ(to_string(reason).empty(), reason == Reason::none);
    EXPECT_EQ(meaning_of(reason).empty(), reason == Reason::none);
  }
}

TEST(Reason, OfANewerServerIsOther) { EXPECT_EQ(reason_from("because"), Reason::other); }

}  // namespace
}  // namespace fenceline
