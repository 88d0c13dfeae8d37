#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

TEST(Nearest, CountsChangesAdditionsOmissionsAndSwaps) {
  EXPECT_EQ(edit_distance("jobs", "jobs"), 0U);
  EXPECT_EQ(edit_distance("jbos", "jobs"), 1U);
  EXPECT_EQ(edit_distance("job", "jobs"), 1U);
  EXPECT_EQ(edit_distance("", "jobs"), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsASlipAndLeavesTheRest) {
  const std::vector<std::string> names{"enqueue", "jobs", "job show", "work"};
  EXPECT_EQ(nearest("enqeue", names), "enqueue");
  EXPECT_EQ(nearest("wrok", names), "work");
  EXPECT_EQ(nearest("zebra", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(10'000, 'x'), names), std::nullopt);
}

}  // namespace
}  // namespace fenceline
