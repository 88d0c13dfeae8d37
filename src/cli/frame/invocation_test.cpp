#include <gtest/gtest.h>

#include "cli/frame/command.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

Invocation with(const std::string& option, const std::string& value) {
  Invocation invocation;
  invocation.options[option] = {value};
  return invocation;
}

TEST(Invocation, NumbersAreWholeAndInRange) {
  EXPECT_EQ(with("--n", "-5").number("--n", 1, -10, 10), -5);
  EXPECT_EQ(Invocation{}.number("--n", 1, -10, 10), 1);
  for (const char* bad : {"", "5x", " 5", "1e3", "11", "-11", "99999999999999999999", "0x5", "+5"}) {
    const auto number = with("--n", bad).number("--n", 1, -10, 10);
    ASSERT_FALSE(number) << bad;
    EXPECT_EQ(exit_code(number.error()), kExitUsage);
    EXPECT_NE(number.error().message.find("--n"), std::string::npos);
  }
}

TEST(Invocation, DurationsThatAreNotPossibleAreUsageErrors) {
  EXPECT_EQ(with("--ttl", "30s").duration("--ttl", 1s, 1s, 24h), Duration{30s});
  for (const char* bad : {"0", "-1s", "500ms", "9e99h", "400d", ""}) {
    const auto duration = with("--ttl", bad).duration("--ttl", 1s, 1s, 24h);
    ASSERT_FALSE(duration) << bad;
    EXPECT_EQ(exit_code(duration.error()), kExitUsage);
  }
}

TEST(Invocation, ADurationThatIsTooShortOrTooLongIsCalledThat) {
  EXPECT_EQ(error_text(with("--ttl", "500ms").duration("--ttl", 1s, 1s, 24h).error()),
            "--ttl 500ms is too short; use 1s to 24h");
  EXPECT_EQ(error_text(with("--ttl", "400d").duration("--ttl", 1s, 1s, 24h).error()),
            "--ttl 400d is too long; use 1s to 24h");
  EXPECT_NE(error_text(with("--ttl", "5").duration("--ttl", 1s, 1s, 24h).error()).find("is not a duration"),
            std::string::npos);
}

TEST(Invocation, EveryKindOfErrorHasItsExitCode) {
  const std::vector<std::pair<Code, int>> expected{
      {Code::held, 75}, {Code::lost, 76},    {Code::not_found, 66},   {Code::conflict, 65}, {Code::refused, 69},
      {Code::full, 74}, {Code::invalid, 65}, {Code::unavailable, 69}, {Code::in_doubt, 75}, {Code::broken, 74}};
  for (const auto& [code, exit] : expected) EXPECT_EQ(exit_code({code, "x"}), exit) << to_string(code);
  EXPECT_EQ(exit_code(usage_error("x")), 64);
}

TEST(Invocation, AnErrorIsOnePrintableLineWithoutItsMark) {
  EXPECT_EQ(error_text(usage_error("what;\nwhat to do\x1b[31m")), "what; what to do?[31m");
}

TEST(Invocation, AnErrorNeverSaysBothThatItMayHaveHappenedAndThatNothingWasChanged) {
  EXPECT_EQ(error_text({Code::unavailable, "the answer from db was lost: it may have happened"}),
            "the answer from db was lost; nothing was changed; try again");
  EXPECT_EQ(error_text({Code::in_doubt, "store a.db: busy; nothing was changed"}),
            "store a.db: busy; it may have happened; check before you repeat it");
  EXPECT_EQ(error_text({Code::in_doubt, "busy; nothing was changed; an earlier try may have happened"}),
            "busy; an earlier try may have happened");
  EXPECT_EQ(error_text({Code::unavailable, "busy; nothing was changed"}), "busy; nothing was changed; try again");
  EXPECT_EQ(error_text({Code::in_doubt, "the answer was lost: it may have happened"}),
            "the answer was lost; it may have happened; check before you repeat it");
}

TEST(Invocation, AnErrorAlwaysSaysWhatToDo) {
  for (const Code code : {Code::held, Code::lost, Code::not_found, Code::conflict, Code::refused, Code::full,
                          Code::invalid, Code::unavailable, Code::in_doubt, Code::broken}) {
    EXPECT_NE(error_text({code, "what"}).find("what; "), std::string::npos) << to_string(code);
  }
  EXPECT_EQ(error_text({Code::full, "no room; delete something"}), "no room; delete something");
}

}  // namespace
}  // namespace fenceline::cli
