#include "services/schedule_book.hpp"

#include <gtest/gtest.h>

#include "model/schedule.hpp"
#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

ScheduleRow row(Duration every) {
  return {.name = "s", .spec = spec_text({.every = every, .queue = "q"}), .revision = 1, .version = 1, .resolved_to = WallTime{1h}};
}

TEST(ScheduleBook, ARowOfTheSameRevisionIsTakenOnlyIfItSaysTheSame) {
  ScheduleBook book;
  book.put(test::must(known(row(1min))));
  EXPECT_TRUE(book.refresh(row(1min)));
  EXPECT_FALSE(book.refresh(row(2min))) << "a store that was set back counts the same revisions once more";
  EXPECT_EQ(book.next(), WallTime{1h + 1min});
}

}  // namespace
}  // namespace fenceline
