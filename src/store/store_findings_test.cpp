#include "store/store_findings.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}};

TEST(StoreFindings, BytesAreShownInTheUnitThatFits) {
  EXPECT_EQ(in_units(512), "0.5 KiB");
  EXPECT_EQ(in_units(3 << 19), "1.5 MiB");
  EXPECT_EQ(in_units(std::int64_t{5} << 30), "5.0 GiB");
}

TEST(StoreFindings, AWordOfAShellIsOneWordWhateverItHolds) {
  EXPECT_EQ(shell_word("/var/lib/fenceline.db"), "/var/lib/fenceline.db");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("pool#3"), "pool#3");
  EXPECT_EQ(shell_word("#3"), "'#3'");
}

TEST(StoreFindings, AClockIsOutOfStepOnlyByMoreThanTheCallTook) {
  EXPECT_EQ(clock_finding(kNow + 4s, kNow, kNow, "mend").status, FindingStatus::ok);
  EXPECT_EQ(clock_finding(kNow + 6s, kNow, kNow + 4s, "mend").status, FindingStatus::ok);
  const Finding apart = clock_finding(kNow - 1h, kNow, kNow, "mend");
  EXPECT_EQ(apart.status, FindingStatus::warning);
  EXPECT_EQ(apart.detail, "the server's clock and this machine's are 1h apart");
  EXPECT_EQ(apart.remedy, "mend");
  EXPECT_FALSE(apart.why.empty());
  EXPECT_EQ(clock_finding(WallTime{} + 24h, WallTime{} + 24h, WallTime{} + 24h, "mend").status, FindingStatus::bad);
}

TEST(StoreFindings, OneSlowCallOfSeveralIsNoSlowServer) {
  EXPECT_EQ(round_trip_finding({1ms, 900ms, 2ms}, "mend").status, FindingStatus::ok);
  const Finding slow = round_trip_finding({150ms, 900ms, 2ms}, "mend");
  EXPECT_EQ(slow.status, FindingStatus::warning);
  EXPECT_EQ(slow.detail, "150.0 ms in the middle of 3, 900.0 ms at most");
}

TEST(StoreFindings, AClassThatFellSinceTheStoreWasOpenedIsAWarning) {
  const StoreProfile b{"x", "x:", GuaranteeClass::b, {"synced", "one disk"}};
  const StoreProfile c{"x", "x:", GuaranteeClass::c, {"not synced"}};
  EXPECT_EQ(class_finding(b, b, "mend").detail, "B: synced; one disk");
  EXPECT_EQ(class_finding(c, c, "mend").status, FindingStatus::ok);
  const Finding fell = class_finding(c, b, "mend");
  EXPECT_EQ(fell.status, FindingStatus::warning);
  EXPECT_EQ(fell.detail, "C: not synced; it was B when the store was opened");
  EXPECT_EQ(fell.remedy, "mend");
}

}  // namespace
}  // namespace fenceline
