#include "tracker/fitness.hpp"

#include <gtest/gtest.h>

#include "tracker/backlog_test.hpp"
#include "tracker/budget.hpp"

namespace fenceline::tracker {
namespace {

const Fitness kFit{.idempotent = true, .work = 5min, .claim = 10s};

std::string refusal(const Protocol& protocol, const Fitness& fitness) {
  const Result<void> checked = check_fitness(protocol, fitness);
  return checked ? "" : checked.error().message;
}

TEST(Fitness, WorkThatMayBeDoneTwiceIsTaken) { EXPECT_EQ(refusal(a_protocol(), kFit), ""); }

TEST(Fitness, WorkThatIsNotSaidToBeIdempotentIsRefused) {
  Fitness fitness = kFit;
  fitness.idempotent = false;
  EXPECT_NE(refusal(a_protocol(), fitness).find("--idempotent"), std::string::npos);
}

TEST(Fitness, WorkOrATtlOfSecondsIsRefused) {
  Fitness fitness = kFit;
  fitness.work = 99s;
  EXPECT_NE(refusal(a_protocol(), fitness).find("work of 99s is too short"), std::string::npos);
  Protocol protocol = a_protocol();
  protocol.pipeline.stages.front().ttl = 199s;
  EXPECT_NE(refusal(protocol, kFit).find("a ttl of 199s at stage ready is too short"), std::string::npos);
}

TEST(Fitness, ACriticalPipelineIsRefused) {
  Protocol protocol = a_protocol();
  protocol.pipeline.critical = true;
  EXPECT_NE(refusal(protocol, kFit).find("critical"), std::string::npos);
  EXPECT_NE(refusal(protocol, kFit).find("sqlite, postgres, redis"), std::string::npos);
}

TEST(Fitness, TwoTrackersAreRefused) {
  Fitness fitness = kFit;
  fitness.trackers = 2;
  EXPECT_NE(refusal(a_protocol(), fitness).find("one tracker"), std::string::npos);
}

TEST(Fitness, WithoutAKeyNoStageMayOutlastItsTtl) {
  Protocol protocol = a_protocol();
  protocol.signing.key.clear();
  EXPECT_NE(refusal(protocol, kFit).find("fenceline tracker key"), std::string::npos);
  for (StageSpec& stage : protocol.pipeline.stages) stage.timeout = 10min;
  EXPECT_EQ(refusal(protocol, kFit), "");
  protocol.pipeline.stages.back().timeout = 11min;
  EXPECT_NE(refusal(protocol, kFit).find("stage publish"), std::string::npos);
}

TEST(Fitness, AGateThatNobodyCanOpenIsRefused) {
  Protocol protocol = a_protocol();
  protocol.people.clear();
  EXPECT_NE(refusal(protocol, kFit).find("needs an approval"), std::string::npos);
}

TEST(Fitness, TheMedianIsTheMiddleOne) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({3s, 1s, 2s}), Duration{2s});
  EXPECT_EQ(median({4s, 1s, 3s, 2s}), Duration{2s});
}

TEST(Budget, WritesStayBelowTheTrackersAndUrgentOnesGoFirst) {
  Budget budget({.writes_a_minute = 10, .writes_an_hour = 20});
  const Instant start{};
  for (int write = 0; write < 8; ++write) EXPECT_EQ(budget.take(CallKind::write, Urgency::usual, start), Duration{0});
  EXPECT_EQ(budget.take(CallKind::write, Urgency::usual, start + 10s), Duration{50s});
  EXPECT_EQ(budget.take(CallKind::read, Urgency::usual, start + 10s), Duration{0});
  EXPECT_EQ(budget.take(CallKind::write, Urgency::urgent, start + 10s), Duration{0});
  EXPECT_EQ(budget.take(CallKind::write, Urgency::urgent, start + 10s), Duration{0});
  EXPECT_EQ(budget.take(CallKind::write, Urgency::urgent, start + 10s), Duration{50s});
  for (int write = 0; write < 6; ++write)
    EXPECT_EQ(budget.take(CallKind::write, Urgency::usual, start + 2min), Duration{0});
  EXPECT_EQ(budget.take(CallKind::write, Urgency::usual, start + 4min), Duration{56min});
  EXPECT_EQ(budget.writes(), 16);
}

TEST(Budget, NobodyCallsBeforeTheTrackerSaidSo) {
  Budget budget;
  const Instant start{};
  budget.limited(Duration{30s}, start);
  EXPECT_EQ(budget.take(CallKind::read, Urgency::urgent, start + 10s), Duration{20s});
  EXPECT_EQ(budget.take(CallKind::read, Urgency::urgent, start + 30s), Duration{0});
  budget.unlimited();
  budget.limited(std::nullopt, start + 30s);
  EXPECT_EQ(budget.take(CallKind::read, Urgency::usual, start + 30s), Duration{1min});
  budget.limited(std::nullopt, start + 90s);
  EXPECT_EQ(budget.take(CallKind::read, Urgency::usual, start + 90s), Duration{2min});
  budget.served({.limit = Limit{50, 10min}}, start + 1h);
  EXPECT_EQ(budget.take(CallKind::read, Urgency::usual, start + 1h), Duration{10min});
  EXPECT_EQ(budget.take(CallKind::read, Urgency::urgent, start + 1h), Duration{0});
}

}  // namespace
}  // namespace fenceline::tracker
