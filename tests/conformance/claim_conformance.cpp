// What every store promises about granting jobs: who, when, in which order, under which fence.
#include <set>

#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(JobConformance, L1_AGrantCarriesTheFenceThatTheStoreKeeps) {
  const JobId id = added(new_job());
  const std::vector<ClaimedJob> jobs = claimed(asking("a"));
  ASSERT_EQ(jobs.size(), 1u);
  const ClaimedJob& claim = jobs.front();
  EXPECT_EQ(claim.job.id, id);
  EXPECT_EQ(claim.job.state, JobState::running);
  EXPECT_GT(claim.job.fence, 0);
  EXPECT_EQ(claim.job.owner, "a");
  EXPECT_EQ(claim.job.deliveries, 1);
  EXPECT_EQ(claim.left, kTtl);
  EXPECT_EQ(claim.job.lease_left, kTtl);
  EXPECT_FALSE(claim.forced);
  EXPECT_EQ(claim.previous_owner, "");
  EXPECT_EQ(look(id), claim.job);
}

TEST_P(JobConformance, L1_AFenceIsTheWallClockOrMore) {
  added(new_job());
  const WallTime before = wall();
  EXPECT_GE(claimed_by("a").job.fence, before.time_since_epoch().count());
}

TEST_P(JobConformance, L2_EachGrantHasALargerFence) {
  added(new_job());
  Fence last = 0;
  for (int i = 0; i < 3; ++i) {
    const ClaimedJob failed = claimed_by("a");
    EXPECT_GT(failed.job.fence, last);
    ASSERT_EQ(settled("a", holding_of(failed), {.kind = OutcomeKind::failed}), "");
    const ClaimedJob returned = claimed_by("b");
    EXPECT_GT(returned.job.fence, failed.job.fence);
    ASSERT_EQ(settled("b", holding_of(returned), {.kind = OutcomeKind::given_back}), "");
    const ClaimedJob lost = claimed_by("c");
    EXPECT_GT(lost.job.fence, returned.job.fence);
    last = lost.job.fence;
    let_time_pass(kTtl);
  }
}

TEST_P(JobConformance, L2_AWallClockSetBackDoesNotLowerAFence) {
  added(new_job());
  const ClaimedJob first = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::given_back}), "");
  added(new_job("r"));
  set_wall(wall() + 1h);
  const ClaimedJob ahead = claimed_by("b");
  ASSERT_EQ(settled("b", holding_of(ahead), {.kind = OutcomeKind::given_back}), "");
  set_wall(wall() - 1h);
  const ClaimedJob second = claimed_by("c");
  EXPECT_GT(ahead.job.fence, first.job.fence);
  EXPECT_GT(second.job.fence, ahead.job.fence);
}

TEST_P(JobConformance, L2_AJobOfARemovedNamespaceNeverGetsAnOldFence) {
  const NewJob job = new_job();
  added(job);
  const ClaimedJob first = claimed_by("a");
  must(store().remove_namespace("default", {"tester", "L2"}));
  set_wall(wall() - 24h);
  added(job);
  const ClaimedJob second = claimed_by("b");
  EXPECT_GT(second.job.fence, first.job.fence);
  EXPECT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::done}), "superseded");
}

TEST_P(JobConformance, L2_TheFloorOutlivesTheProcess) {
  const NewJob job = new_job();
  added(job);
  const ClaimedJob first = claimed_by("a");
  must(store().remove_namespace("default", {"tester", "L2"}));
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  set_wall(wall() - 24h);
  added(job);
  EXPECT_GT(claimed_by("b").job.fence, first.job.fence);
}

TEST_P(JobConformance, L2_TheLastFenceIsGrantedAndTheNextRefused) {
  const JobId id = added(new_job());
  set_wall(WallTime{Duration{kFenceMax}});
  const ClaimedJob last = claimed_by("a");
  EXPECT_EQ(last.job.fence, kFenceMax);
  ASSERT_EQ(settled("a", holding_of(last), {.kind = OutcomeKind::given_back}), "");
  const Job before = look(id);
  EXPECT_EQ(code_of(store().claim(asking("b"))), Code::refused);
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, L2_AClockPastTheLastFenceRefusesAndChangesNothing) {
  added(new_job());
  added(new_job());
  set_wall(WallTime{Duration{kFenceMax + 1}});
  const std::vector<Job> before = everything();
  EXPECT_EQ(code_of(store().claim(asking("a", 2))), Code::refused);
  EXPECT_EQ(everything(), before);
}

TEST_P(JobConformance, L2_ATakeoverWithoutAFenceLeftIsRefused) {
  const JobId id = added(new_job());
  set_wall(WallTime{Duration{kFenceMax - 1}} - kTtl);
  const ClaimedJob claim = claimed_by("a");
  let_time_pass(kTtl);
  let_time_pass(2us);
  const Job before = look(id);
  EXPECT_EQ(code_of(store().claim(asking("b"))), Code::refused);
  EXPECT_EQ(look(id), before);
  EXPECT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done}), "");
}

TEST_P(JobConformance, L3_ALiveLeaseIsNotGrantedAgainBeforeItsEnd) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_by("a");
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_TRUE(claimed(asking("a")).empty()) << "nor to its own owner";
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(look(id).lease_left, kMoment);
  let_time_pass(kMoment);
  EXPECT_EQ(look(id).lease_left, Duration{0});
  const ClaimedJob second = claimed_by("b");
  EXPECT_TRUE(second.forced);
  EXPECT_EQ(second.previous_owner, "a");
  EXPECT_GT(second.job.fence, first.job.fence);
  EXPECT_EQ(second.job.deliveries, 2);
}

TEST_P(JobConformance, L3_JumpsOfTheWallClockEndNoLease) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  set_wall(wall() + std::chrono::days{400});
  EXPECT_TRUE(claimed(asking("b")).empty());
  set_wall(wall() - std::chrono::days{800});
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(extended("a", holding_of(claim)), "");
  let_time_pass(kTtl);
  EXPECT_EQ(claimed(asking("b")).size(), 1u) << "and lengthen none";
}

TEST_P(JobConformance, L3_ALeaseOutlivesTheProcessThatServedIt) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_TRUE(claimed(asking("b")).empty());
  EXPECT_EQ(extended("a", holding_of(claim)), "");
  let_time_pass(kTtl);
  EXPECT_GT(claimed_by("b").job.fence, claim.job.fence);
}

TEST_P(JobConformance, J2_AClaimReturnsNoMoreThanItAskedFor) {
  for (int i = 0; i < 5; ++i) added(new_job());
  EXPECT_EQ(claimed(asking("a", 3)).size(), 3u);
  EXPECT_EQ(claimed(asking("b", 3)).size(), 2u);
  EXPECT_TRUE(claimed(asking("c", 3)).empty());
}

TEST_P(JobConformance, J2_NoJobIsGrantedTwiceAtATime) {
  for (int i = 0; i < 20; ++i) added(new_job());
  std::set<JobId> seen;
  for (int i = 0; i < 10; ++i) {
    for (const JobId& id : claimed_ids(asking(i % 2 == 0 ? "a" : "b", 2))) EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_EQ(seen.size(), 20u);
}

TEST_P(JobConformance, OrderExpiredLeasesComeFirstByTheirEnds) {
  const JobId first = added_to("r");
  ClaimRequest long_claim = asking("a");
  long_claim.queues = {"r"};
  long_claim.ttl = 4s;
  claimed(long_claim);
  const JobId second = added_to("q");
  claimed(asking("b"));
  NewJob urgent = new_job();
  urgent.priority = kPriorityMost;
  added(urgent);
  let_time_pass(4s);
  ClaimRequest request = asking("c", 10);
  request.queues = {"r", "q"};
  EXPECT_EQ(claimed_ids(request), (std::vector{second, first, urgent.id}));
}

TEST_P(JobConformance, OrderLeasesThatEndTogetherGoByEnqueue) {
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    NewJob job = new_job();
    job.priority = i;
    ids.push_back(added(job));
  }
  EXPECT_EQ(claimed(asking("a", 4)).size(), 4u);
  let_time_pass(kTtl);
  EXPECT_EQ(claimed_ids(asking("b", 4)), ids);
}

TEST_P(JobConformance, OrderPriorityThenRunTimeThenEnqueue) {
  NewJob later = new_job();
  later.delay = 2ms;
  NewJob sooner = new_job();
  sooner.delay = 1ms;
  NewJob low = new_job();
  low.priority = -1;
  NewJob high = new_job();
  high.priority = 1;
  high.delay = 3ms;
  NewJob same = new_job();
  same.delay = 1ms;
  must(store().enqueue({.ns = "default", .jobs = {later, sooner, low, high, same}}));
  let_time_pass(1s);
  EXPECT_EQ(claimed_ids(asking("a", 10)), (std::vector{high.id, sooner.id, same.id, later.id, low.id}));
}

TEST_P(JobConformance, OrderQueuesAreServedAsTheyAreNamed) {
  NewJob high = new_job("q");
  high.priority = kPriorityMost;
  added(high);
  const JobId other = added_to("r");
  added_to("s");
  ClaimRequest request = asking("a", 10);
  request.queues = {"r", "q"};
  EXPECT_EQ(claimed_ids(request), (std::vector{other, high.id}));
}

TEST_P(JobConformance, ADelayedJobIsNotClaimedBeforeItsTime) {
  NewJob job = new_job();
  job.delay = 5s;
  added(job);
  let_time_pass(5s - kMoment);
  EXPECT_TRUE(claimed(asking("a")).empty());
  let_time_pass(kMoment);
  EXPECT_EQ(claimed_ids(asking("a")), std::vector{job.id});
}

TEST_P(JobConformance, ADelayIsOnTheWallClock) {
  NewJob job = new_job();
  job.delay = 1h;
  added(job);
  set_wall(wall() + 1h);
  EXPECT_EQ(claimed_ids(asking("a")), std::vector{job.id});
}

TEST_P(JobConformance, StagesDoNotCross) {
  NewJob job = new_job();
  job.stage = "review";
  added(job);
  EXPECT_TRUE(claimed(asking("a")).empty());
  ClaimRequest request = asking("a");
  request.stage = "review";
  EXPECT_EQ(claimed_ids(request), std::vector{job.id});
}

TEST_P(JobConformance, NextDueIsTheFirstRunTimeOrForeignLeaseEndAhead) {
  EXPECT_FALSE(must(store().claim(asking("a"))).next_due);
  NewJob delayed = new_job();
  delayed.delay = 10s;
  added(delayed);
  added_to("r");
  EXPECT_EQ(must(store().claim(asking("a"))).next_due, 10s) << "other queues do not count";
  added(new_job());
  EXPECT_EQ(must(store().claim(asking("a", 2))).next_due, 10s) << "nor one's own leases";
  EXPECT_EQ(must(store().claim(asking("b"))).next_due, kTtl);
  let_time_pass(1s);
  EXPECT_EQ(must(store().claim(asking("b"))).next_due, kTtl - 1s);
}

TEST_P(JobConformance, NextDueIsLeftOutWhenAllThatWasAskedForCame) {
  NewJob delayed = new_job();
  delayed.delay = 10s;
  added(delayed);
  added(new_job());
  EXPECT_FALSE(must(store().claim(asking("a"))).next_due);
}

TEST_P(JobConformance, InvalidClaimsChangeNothing) {
  added(new_job());
  const std::vector<Job> before = everything();
  const auto refused = [&](auto spoil) {
    ClaimRequest request = asking("a");
    spoil(request);
    EXPECT_EQ(code_of(store().claim(request)), Code::invalid);
  };
  refused([](ClaimRequest& r) { r.ns = ""; });
  refused([](ClaimRequest& r) { r.queues = {}; });
  refused([](ClaimRequest& r) { r.queues = {"q", "q"}; });
  refused([](ClaimRequest& r) { r.queues = {"q", "../q"}; });
  refused([](ClaimRequest& r) { r.stage = "-"; });
  refused([](ClaimRequest& r) { r.owner = ""; });
  refused([](ClaimRequest& r) { r.owner = std::string(kNameBytesMax + 1, 'o'); });
  refused([](ClaimRequest& r) { r.request = ""; });
  refused([](ClaimRequest& r) { r.limit = 0; });
  refused([](ClaimRequest& r) { r.limit = -1; });
  refused([](ClaimRequest& r) { r.limit = kBatchMax + 1; });
  refused([](ClaimRequest& r) { r.ttl = 0s; });
  refused([](ClaimRequest& r) { r.ttl = -1s; });
  refused([](ClaimRequest& r) { r.ttl = 999'999us; });
  refused([](ClaimRequest& r) { r.ttl = 24h + 1us; });
  EXPECT_EQ(everything(), before);
}

}  // namespace
}  // namespace fenceline::test
