#include "services/command_handler.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "support/results.hpp"

namespace fenceline {
namespace {

using test::must;

CommandEnd exited(int number) { return {.status = ExitStatus{.exited = true, .number = number}, .output = "out"}; }
CommandEnd killed(int signal) { return {.status = ExitStatus{.exited = false, .number = signal}}; }

TEST(CommandEnds, J5_OursIsNotJudgedByRulesForTheCommandsOwnEnds) {
  for (const char* outcome : {"done", "dead", "later", "fail"}) {
    const std::string means = std::string("=") + outcome;
    const EndPolicy ends = must(EndPolicy::parse({"signal" + means, "other" + means, "143" + means}));
    for (const CommandEnd& end :
         {killed(SIGTERM), killed(SIGKILL), exited(143), exited(1), CommandEnd{.stopped = true}}) {
      EXPECT_EQ(result_of(end, ends, Stopped::for_us).kind, OutcomeKind::given_back) << outcome;
    }
  }
}

TEST(CommandEnds, WhatACommandThatWeToldToEndSaysByItsStatusCounts) {
  const EndPolicy ends = must(EndPolicy::parse({"3=done"}));
  EXPECT_EQ(result_of(exited(0), ends, Stopped::for_us).kind, OutcomeKind::done);
  EXPECT_EQ(result_of(exited(3), ends, Stopped::for_us).result, "out");
  EXPECT_EQ(result_of(exited(65), ends, Stopped::for_us).kind, OutcomeKind::dead);
  EXPECT_EQ(result_of(exited(75), ends, Stopped::for_us).kind, OutcomeKind::later);
}

TEST(CommandEnds, OneThatNobodyStoppedIsJudgedByItsRules) {
  const EndPolicy ends = must(EndPolicy::parse({"signal=dead", "143=done", "other=later"}));
  EXPECT_EQ(result_of(killed(SIGTERM), ends, Stopped::no).kind, OutcomeKind::dead);
  EXPECT_EQ(result_of(exited(143), ends, Stopped::no).kind, OutcomeKind::done);
  EXPECT_EQ(result_of(exited(1), ends, Stopped::no).kind, OutcomeKind::later);
  EXPECT_EQ(result_of(exited(0), ends, Stopped::no).kind, OutcomeKind::done);
}

TEST(CommandEnds, OneThatSaysItIsDoneIsDoneThoughItsTimeWasOver) {
  const EndPolicy ends = must(EndPolicy::parse({"timeout=dead", "3=done", "signal=done"}));
  const RunResult whole = result_of(exited(0), ends, Stopped::timed_out);
  EXPECT_EQ(whole.kind, OutcomeKind::done);
  EXPECT_EQ(whole.result, "out");
  EXPECT_EQ(whole.exit_status, 0);
  EXPECT_EQ(result_of(exited(3), ends, Stopped::timed_out).kind, OutcomeKind::done);
  for (const CommandEnd& end : {killed(SIGTERM), exited(143), exited(1), exited(75), CommandEnd{.stopped = true}}) {
    EXPECT_EQ(result_of(end, ends, Stopped::timed_out).kind, OutcomeKind::dead);
  }
}

}  // namespace
}  // namespace fenceline
