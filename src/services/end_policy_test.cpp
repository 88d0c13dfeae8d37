#include "services/end_policy.hpp"

#include <gtest/gtest.h>

#include "support/results.hpp"

namespace fenceline {
namespace {

using test::must;

ExitStatus ended_with(int number) { return {.exited = true, .number = number}; }
constexpr ExitStatus kKilled{.exited = false, .number = 9};

TEST(EndPolicy, IsThatOfSysexitsUnlessSomebodySaysOtherwise) {
  const EndPolicy policy;
  EXPECT_EQ(policy.of(ended_with(65)), OutcomeKind::dead);
  EXPECT_EQ(policy.of(ended_with(75)), OutcomeKind::later);
  EXPECT_EQ(policy.of(ended_with(1)), OutcomeKind::failed);
  EXPECT_EQ(policy.of(kKilled), OutcomeKind::failed);
  EXPECT_EQ(policy.of_timeout(), OutcomeKind::failed);
}

TEST(EndPolicy, ARuleChangesOneEndAndLeavesTheOthers) {
  const EndPolicy policy = must(EndPolicy::parse({"3=done", "signal=later", "timeout=dead", "65=fail"}));
  EXPECT_EQ(policy.of(ended_with(3)), OutcomeKind::done);
  EXPECT_EQ(policy.of(kKilled), OutcomeKind::later);
  EXPECT_EQ(policy.of_timeout(), OutcomeKind::dead);
  EXPECT_EQ(policy.of(ended_with(65)), OutcomeKind::failed);
  EXPECT_EQ(policy.of(ended_with(75)), OutcomeKind::later);
  EXPECT_EQ(policy.of(ended_with(4)), OutcomeKind::failed);
}

TEST(EndPolicy, OtherIsEveryEndThatHasNoRuleOfItsOwn) {
  const EndPolicy policy = must(EndPolicy::parse({"other=dead", "timeout=later"}));
  EXPECT_EQ(policy.of(ended_with(1)), OutcomeKind::dead);
  EXPECT_EQ(policy.of(kKilled), OutcomeKind::dead);
  EXPECT_EQ(policy.of_timeout(), OutcomeKind::later);
  EXPECT_EQ(policy.of(ended_with(75)), OutcomeKind::later);
}

TEST(EndPolicy, OfACommandThatWasToldToEndOnlyWhatItSaysItselfCounts) {
  const EndPolicy policy = must(EndPolicy::parse({"signal=done", "other=dead", "143=done", "137=dead", "3=done"}));
  EXPECT_EQ(policy.of_told(ended_with(0)), OutcomeKind::done);
  EXPECT_EQ(policy.of_told(ended_with(3)), OutcomeKind::done);
  EXPECT_EQ(policy.of_told(ended_with(65)), OutcomeKind::dead);
  EXPECT_EQ(policy.of_told(ended_with(75)), OutcomeKind::later);
  for (const ExitStatus& end : {kKilled, ended_with(1), ended_with(143), ended_with(137)})
    EXPECT_EQ(policy.of_told(end), std::nullopt) << end.number;
}

TEST(EndPolicy, TheLastRuleForAnEndCounts) {
  EXPECT_EQ(must(EndPolicy::parse({"3=dead", "3=later"})).of(ended_with(3)), OutcomeKind::later);
}

TEST(EndPolicy, RefusesWhatNamesNoEndOrNoOutcome) {
  for (const char* rule : {"", "=", "3", "3=", "=dead", "0=done", "256=dead", "-1=dead", "3x=dead", " 3=dead", "3=DEAD",
                           "3=failed", "Signal=dead", "3=dead=later"}) {
    const auto policy = EndPolicy::parse({rule});
    ASSERT_FALSE(policy) << rule;
    EXPECT_EQ(policy.error().code, Code::invalid);
    EXPECT_NE(policy.error().message.find("fail, dead, later or done"), std::string::npos) << policy.error().message;
  }
}

}  // namespace
}  // namespace fenceline
