#include "base/result.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/check.hpp"

namespace fenceline {
namespace {

TEST(Result, EveryCodeHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(Code::broken); ++code) {
    const std::string_view word = to_string(static_cast<Code>(code));
    EXPECT_NE(word, "unknown");
    EXPECT_TRUE(words.insert(word).second) << word;
  }
  EXPECT_EQ(to_string(Code::in_doubt), "in_doubt");
}

TEST(Result, CarriesAnError) {
  const Result<int> result = fail(Code::held, "lease deploy is held by node-b");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{Code::held, "lease deploy is held by node-b"}));
}

TEST(CheckDeathTest, AFalseConditionStopsTheProcessAndSaysWhere) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(check(false, "fences only grow"), "internal error: fences only grow .*result_test.cpp");
  check(true, "nothing happens");
}

}  // namespace
}  // namespace fenceline
