#include "services/schedule_book.hpp"

#include <gtest/gtest.h>

#include "model/schedule.hpp"
#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

ScheduleRow row(Duration every) {
  return {.name = "s",
          .spec = spec_text({.every = every, .queue = "q"}),
          .revision = 1,
          .version = 1,
          .resolved_to = WallTime{1h}};
}

TEST(ScheduleBook, ARowOfTheSameRevisionIsTakenOnlyIfItSaysTheSame) {
  ScheduleBook book;
  book.put(test::must(known(row(1min))));
  EXPECT_TRUE(book.refresh(row(1min)));
  EXPECT_FALSE(book.refresh(row(2min))) << "a store that was set back counts the same revisions once more";
  EXPECT_EQ(book.next(), WallTime{1h + 1min});
}

TEST(ScheduleBook, WhatFiredAheadIsRememberedUntilItMayBeAnother) {
  ScheduleBook book;
  const auto remembers = [&] { return book.find("s")->fired_ahead.has_value(); };
  const auto remember = [&] {
    book.put(test::must(known(row(1min))));
    EXPECT_FALSE(remembers());
    book.remember("s", FiredAhead{});
    EXPECT_TRUE(remembers());
  };
  remember();
  book.moved("s", WallTime{2h}, WallTime{});
  EXPECT_TRUE(book.refresh(row(1min)));
  EXPECT_TRUE(remembers()) << "a step ahead of none of them";
  book.moved("s", WallTime{2h}, WallTime{2h});
  EXPECT_FALSE(remembers()) << "somebody fired one";
  remember();
  ScheduleRow later = row(1min);
  later.fired_to = WallTime{5h};
  EXPECT_TRUE(book.refresh(later));
  EXPECT_FALSE(remembers());
  remember();
  book.wake();
  EXPECT_FALSE(remembers()) << "the clock was ahead, and others may have fired there";
}

}  // namespace
}  // namespace fenceline
