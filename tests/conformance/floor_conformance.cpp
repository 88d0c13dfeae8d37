// What every store promises about the floor of fences: an operator raises it, and whatever is granted after lies above
// (L2).
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

Fence in_us(WallTime time) { return time.time_since_epoch().count(); }

TEST_P(RetentionConformance, L2_EveryGrantIsAboveTheFloorAlsoOfAJobThatHadAFence) {
  const JobId again = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(again), {.kind = OutcomeKind::given_back}), "");
  NewJob of_group = new_job();
  of_group.group = "g";
  added(of_group);
  const Fence floor = in_us(wall() + 1h);
  EXPECT_EQ(must(store().raise_floor({.ns = "default", .floor = floor, .act = kAct})), floor);
  added(new_job());
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 10));
  ASSERT_EQ(jobs.size(), 3u);
  for (const ClaimedJob& job : jobs) EXPECT_EQ(job.job.fence, floor + 1);
}

TEST_P(RetentionConformance, L2_AnActOnARunningJobAndATakeoverAreAboveTheFloorToo) {
  const JobId cancelled_one = added(new_job());
  claimed_as_next(cancelled_one);
  const JobId lost = added(new_job());
  claimed_as_next(lost);
  const Fence floor = in_us(wall() + 1h);
  must(store().raise_floor({.ns = "default", .floor = floor, .act = kAct}));
  EXPECT_EQ(cancelled(cancelled_one), "");
  EXPECT_EQ(look(cancelled_one).fence, floor + 1);
  let_time_pass(kTtl);
  EXPECT_EQ(claimed_as_next(lost).job.fence, floor + 1);
}

TEST_P(RetentionConformance, L2_AJobThatDiesOfItsLossesIsAboveTheFloor) {
  const JobId id = added(new_job());
  lose(id, kLossesInRowMax);
  const Fence floor = in_us(wall() + 1h);
  must(store().raise_floor({.ns = "default", .floor = floor, .act = kAct}));
  EXPECT_TRUE(claimed(asking("a")).empty());
  EXPECT_EQ(look(id).state, JobState::dead);
  EXPECT_EQ(look(id).fence, floor + 1);
}

TEST_P(RetentionConformance, L2_TheFloorNeverSinksAndOnlyARaiseStandsInTheTrail) {
  const Fence floor = in_us(wall() + 1h);
  EXPECT_EQ(must(store().raise_floor({.ns = "default", .floor = floor, .act = kAct})), floor);
  EXPECT_EQ(must(store().raise_floor({.ns = "default", .floor = floor, .act = kAct})), floor);
  EXPECT_EQ(must(store().raise_floor({.ns = "default", .floor = floor - 1, .act = kAct})), floor);
  const std::vector<TrailEntry> entries = trail();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].act, "floor_raised");
  EXPECT_EQ(entries[0].subject, std::to_string(floor));
  EXPECT_EQ(entries[0].reason, kAct.reason);
}

TEST_P(RetentionConformance, L2_TheFloorIsTheWholeStoresAndOutlivesTheProcess) {
  const Fence floor = in_us(wall() + 1h);
  must(store().raise_floor({.ns = "other", .floor = floor, .act = kAct}));
  reopen();
  const JobId id = added(new_job());
  if (must(store().raise_floor({.ns = "other", .floor = 1, .act = kAct})) != floor) FAIL() << "the floor was forgotten";
  EXPECT_EQ(claimed_as_next(id).job.fence, floor + 1);
}

TEST_P(RetentionConformance, L2_AFloorFarAheadOfTheClockIsRefusedUnlessFencesAreThereAlready) {
  const auto raised = [&](Fence floor) { return store().raise_floor({.ns = "default", .floor = floor, .act = kAct}); };
  EXPECT_EQ(raised(0).error().code, Code::invalid);
  EXPECT_EQ(raised(kFenceMax).error().code, Code::invalid);
  const Fence most = in_us(wall() + kFloorAheadMost);
  EXPECT_EQ(raised(most + 1).error().code, Code::refused);
  EXPECT_EQ(must(raised(most)), most);

  const JobId id = added(new_job());
  const Fence granted = claimed_as_next(id).job.fence;
  EXPECT_EQ(granted, most + 1);
  EXPECT_EQ(raised(granted + 1).error().code, Code::refused);
  EXPECT_EQ(must(raised(granted)), granted) << "a fence of that size is out there";
  EXPECT_EQ(trail().size(), 2u) << "what was refused is no act";
}

}  // namespace
}  // namespace fenceline::test
