#include "cli/frame/pages.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

Invocation pages_with(const std::map<std::string, std::vector<std::string>>& options) {
  Invocation invocation;
  invocation.options = options;
  return invocation;
}

TEST(Pages, APageHasAHundredRowsUnlessSaidOtherwise) {
  EXPECT_EQ(page_limit(pages_with({})), 100);
  EXPECT_EQ(page_limit(pages_with({{"--limit", {"7"}}})), 7);
  EXPECT_EQ(page_limit(pages_with({{"--all", {""}}})), 1000);
  EXPECT_EQ(exit_code(page_limit(pages_with({{"--limit", {"1001"}}})).error()), kExitUsage);
}

TEST(Pages, AllOfThemGoesWithNoPartOfThem) {
  for (const char* option : {"--limit", "--after", "--cursor"}) {
    const Result<int> limit = page_limit(pages_with({{"--all", {""}}, {option, {"5"}}}), {"--after", "--cursor"});
    ASSERT_FALSE(limit) << option;
    EXPECT_EQ(error_text(limit.error()), "--all cannot be combined with --limit or --after; use one or the other");
  }
}

}  // namespace
}  // namespace fenceline::cli
