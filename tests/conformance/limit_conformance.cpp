// What every store promises about limits on running jobs, of a queue and of a key in it (J7), and about what is
// blocked.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

NewJob of_key(JobId id, std::string key) { return {.id = id, .queue = "q", .limit_key = std::move(key)}; }

TEST_P(LimitConformance, J7_AQueueRunsNoMoreThanItsLimitOverAllStages) {
  set_queue({.limit = 2});
  for (int i = 0; i < 4; ++i) added(new_job());
  NewJob staged = new_job();
  staged.stage = "review";
  added(staged);
  EXPECT_EQ(claimed(asking("a", 10)).size(), 2u);
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
  ClaimRequest review = asking("b", 10);
  review.stage = "review";
  EXPECT_TRUE(claimed(review).empty());
}

TEST_P(LimitConformance, J7_AKeyRunsNoMoreThanTheLimitPerKey) {
  set_queue({.limit_per_key = 1});
  const JobId first = added(of_key(new_id(), "a"));
  const JobId second = added(of_key(new_id(), "a"));
  const JobId other = added(of_key(new_id(), "b"));
  const JobId none = added(new_job());
  EXPECT_EQ(claimed_ids(asking("x", 10)), (std::vector{first, other, none}));
  EXPECT_TRUE(claimed(asking("y", 10)).empty());
  EXPECT_EQ(look(second).state, JobState::ready);
}

TEST_P(LimitConformance, J7_BothLimitsHoldAtOnce) {
  set_queue({.limit = 2, .limit_per_key = 1});
  const JobId first = added(of_key(new_id(), "a"));
  added(of_key(new_id(), "a"));
  const JobId other = added(of_key(new_id(), "b"));
  added(of_key(new_id(), "c"));
  EXPECT_EQ(claimed_ids(asking("x", 10)), (std::vector{first, other}));
}

TEST_P(LimitConformance, OrderOfAKeyTheBestComesFirstWheneverItCame) {
  set_queue({.limit_per_key = 1});
  const JobId early = added(of_key(new_id(), "a"));
  NewJob delayed = of_key(new_id(), "a");
  delayed.priority = 10;
  delayed.delay = 5s;
  added(delayed);
  NewJob eager = of_key(new_id(), "a");
  eager.priority = 5;
  added(eager);
  const ClaimedJob first = claimed_as_next(eager.id);
  let_time_pass(1s);
  EXPECT_EQ(ended(first), "");
  const ClaimedJob second = claimed_as_next(early);
  EXPECT_EQ(extended("a", holding_of(second), 1h), "");
  let_time_pass(4s);
  EXPECT_TRUE(claimed(asking("b")).empty());
  NewJob third = of_key(new_id(), "a");
  third.priority = 9;
  added(third);
  EXPECT_EQ(ended(second), "");
  EXPECT_EQ(ended(claimed_as_next(delayed.id)), "");
  claimed_as_next(third.id);
}

TEST_P(LimitConformance, J7_LimitsOfOneQueueAreNotThoseOfAnother) {
  set_queue({.limit = 1});
  added(new_job());
  added(new_job());
  added(new_job("r"));
  added(new_job("r"));
  ClaimRequest request = asking("a", 10);
  request.queues = {"q", "r"};
  EXPECT_EQ(claimed(request).size(), 3u);
}

TEST_P(LimitConformance, J7_EveryOutcomeFreesTheSlot) {
  set_queue({.limit = 1, .limit_per_key = 1});
  for (int i = 0; i < 5; ++i) added(of_key(new_id(), "a"));
  for (const OutcomeKind kind :
       {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later, OutcomeKind::given_back}) {
    const ClaimedJob claim = claimed_by("a");
    EXPECT_TRUE(claimed(asking("b")).empty());
    EXPECT_EQ(ended(claim, {.kind = kind, .retry_in = 1h}), "");
  }
  const ClaimRequest request = asking("a");
  ASSERT_EQ(claimed(request).size(), 1u);
  must(give_back(request));
  EXPECT_EQ(claimed(asking("b", 10)).size(), 1u);
}

TEST_P(LimitConformance, J7_ALeaseThatRanOutKeepsItsSlotAndIsTakenOver) {
  set_queue({.limit = 1, .limit_per_key = 1});
  const JobId first = added(of_key(new_id(), "a"));
  NewJob eager = of_key(new_id(), "a");
  eager.priority = 100;
  claimed_as_next(first);
  added(eager);
  let_time_pass(kTtl);
  EXPECT_EQ(claimed_ids(asking("b", 10)), std::vector{first});
  EXPECT_TRUE(claimed(asking("c", 10)).empty());
}

TEST_P(LimitConformance, J7_ATakeoverIsGrantedThoughTheLimitWasSetLower) {
  added(new_job());
  added(new_job());
  const JobId third = added(new_job());
  EXPECT_EQ(claimed(asking("a", 2)).size(), 2u);
  set_queue({.limit = 1});
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
  let_time_pass(kTtl);
  std::vector<ClaimedJob> taken_over = claimed(asking("b", 10));
  ASSERT_EQ(taken_over.size(), 2u);
  EXPECT_EQ(ended(taken_over[0]), "");
  EXPECT_TRUE(claimed(asking("b", 10)).empty()) << "one still runs";
  EXPECT_EQ(ended(taken_over[1]), "");
  claimed_as_next(third);
}

TEST_P(LimitConformance, J7_ARemovedLimitHoldsNobodyBack) {
  set_queue({.limit = 1, .limit_per_key = 1});
  for (int i = 0; i < 3; ++i) added(of_key(new_id(), "a"));
  EXPECT_EQ(claimed(asking("a", 10)).size(), 1u);
  set_queue({.limit = 0});
  EXPECT_TRUE(claimed(asking("a", 10)).empty());
  set_queue({.limit_per_key = 0});
  EXPECT_EQ(claimed(asking("a", 10)).size(), 2u);
}

TEST_P(LimitConformance, J7_ARaisedLimitLetsMoreIn) {
  set_queue({.limit_per_key = 1});
  for (int i = 0; i < 4; ++i) added(of_key(new_id(), "a"));
  EXPECT_EQ(claimed(asking("a", 10)).size(), 1u);
  set_queue({.limit_per_key = 3});
  EXPECT_EQ(claimed(asking("a", 10)).size(), 2u);
}

TEST_P(LimitConformance, J7_ALimitSetWhileJobsWaitCountsWhatRuns) {
  for (int i = 0; i < 4; ++i) added(of_key(new_id(), "a"));
  EXPECT_EQ(claimed(asking("a", 2)).size(), 2u);
  set_queue({.limit_per_key = 3});
  EXPECT_EQ(claimed(asking("a", 10)).size(), 1u);
}

TEST_P(LimitConformance, J7_ARevokedDeliveryKeepsItsSlotUntilItIsOver) {
  set_queue({.limit = 1, .limit_per_key = 1});
  const JobId first = added(of_key(new_id(), "a"));
  const JobId second = added(of_key(new_id(), "a"));
  const ClaimedJob one = claimed_as_next(first);
  EXPECT_EQ(cancelled(first), "");
  EXPECT_TRUE(claimed(asking("b")).empty());
  stopped(one);
  claimed_as_next(second, "b");
  EXPECT_EQ(retried(second), "");
  EXPECT_TRUE(claimed(asking("c")).empty());
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(asking("c")).empty());
  let_time_pass(kMoment);
  claimed_as_next(second, "c");
}

TEST_P(LimitConformance, J7_ABurialFreesTheSlotInTheSameClaim) {
  set_queue({.limit = 1});
  const JobId first = added(new_job());
  lose(first, 5);
  const JobId second = added(new_job());
  claimed_as_next(second);
}

TEST_P(LimitConformance, J8_BlockedJobsInFrontHideNoFreeOne) {
  set_queue({.limit_per_key = 1});
  std::vector<NewJob> blocked;
  for (int i = 0; i < 300; ++i) {
    NewJob job = of_key(new_id(), "a");
    job.priority = 10;
    blocked.push_back(job);
  }
  must(store().enqueue({.ns = "default", .jobs = blocked}));
  claimed_as_next(blocked.front().id);
  const JobId other = added(of_key(new_id(), "b"));
  const JobId free = added(new_job());
  EXPECT_EQ(claimed_ids(asking("b", 10)), (std::vector{other, free}));
}

TEST_P(LimitConformance, J8_AClockSetBackForAWhileHidesNoJobOfALimitKey) {
  set_queue({.limit_per_key = 1});
  const WallTime before = wall();
  set_wall(before + 1h);
  const JobId first = added(of_key(new_id(), "a"));
  const JobId second = added(of_key(new_id(), "a"));
  const ClaimedJob running = claimed_as_next(first);
  set_wall(before);
  EXPECT_EQ(ended(running), "") << "the slot is free while the other one's time lies ahead again";
  let_time_pass(2h);
  claimed_as_next(second);
}

TEST_P(LimitConformance, J7_AnAloneJobNeedsASlotToo) {
  const JobId lossy = added(new_job());
  lose(lossy, 2);
  EXPECT_EQ(ended(claimed_as_next(lossy), {.kind = OutcomeKind::given_back}), "");
  set_queue({.limit = 1});
  NewJob staged = new_job();
  staged.stage = "review";
  added(staged);
  ClaimRequest review = asking("a");
  review.stage = "review";
  const ClaimedJob running = claimed(review).at(0);
  EXPECT_TRUE(claimed(asking("b")).empty());
  ClaimRequest busy = asking("b");
  busy.holds_others = true;
  EXPECT_FALSE(must(store().claim(busy)).alone_waiting) << "nobody could have it now";
  EXPECT_EQ(ended(running), "");
  claimed_as_next(lossy, "b");
}

TEST_P(LimitConformance, J5_AClaimThatTakesTheLastSlotStillTellsOfTheJobThatMustRunAlone) {
  const JobId lossy = added(new_job());
  lose(lossy, 2);
  EXPECT_EQ(ended(claimed_as_next(lossy), {.kind = OutcomeKind::given_back}), "");
  set_queue({.limit = 1});
  const JobId other = added(new_job());
  ClaimRequest busy = asking("b");
  busy.holds_others = true;
  const ClaimReply reply = must(store().claim(busy));
  ASSERT_EQ(reply.jobs.size(), 1u);
  EXPECT_EQ(reply.jobs[0].job.id, other);
  EXPECT_TRUE(reply.alone_waiting);
}

TEST_P(LimitConformance, J5_AJobThatMustRunAloneIsNotHiddenByABetterOneOfItsLimitKey) {
  set_queue({.limit_per_key = 1});
  const JobId lossy = added(of_key(new_id(), "k"));
  lose(lossy, 2);
  const ClaimedJob alone = claimed_as_next(lossy);
  EXPECT_EQ(ended(alone, {.kind = OutcomeKind::given_back}), "");
  NewJob better = of_key(new_id(), "k");
  better.priority = 5;
  const JobId first = added(better);
  better.id = new_id();
  added(better);
  ClaimRequest busy = asking("b");
  busy.holds_others = true;
  const ClaimedJob holder = claimed(busy).at(0);
  EXPECT_EQ(holder.job.id, first);
  EXPECT_TRUE(claimed(asking("c", 10)).empty()) << "the key is full";
  EXPECT_EQ(ended(holder), "");
  EXPECT_EQ(claimed_ids(asking("c", 10)), std::vector{lossy}) << "before all others";
}

TEST_P(LimitConformance, ABacklogCountsWhatIsBlocked) {
  const BacklogRequest request{.ns = "default", .queues = {"q"}};
  set_queue({.limit_per_key = 1});
  added(of_key(new_id(), "a"));
  added(of_key(new_id(), "a"));
  BacklogReply before = must(store().backlog(request));
  EXPECT_TRUE(before.claimable);
  EXPECT_EQ(before.blocked, 0) << "each could be claimed, only not both";
  const ClaimedJob claim = claimed_by("a");
  NewJob first = new_job();
  first.group = "g";
  first.delay = 1h;
  NewJob second = new_job();
  second.group = "g";
  added(first);
  added(second);
  BacklogReply reply = must(store().backlog(request));
  EXPECT_TRUE(reply.running);
  EXPECT_FALSE(reply.claimable);
  EXPECT_EQ(reply.ahead, 1);
  EXPECT_EQ(reply.blocked, 2);
  EXPECT_EQ(reply.next_due, 1h);
  EXPECT_EQ(retried(claim.job.id), "");
  reply = must(store().backlog(request));
  EXPECT_FALSE(reply.running);
  EXPECT_FALSE(reply.claimable);
  EXPECT_EQ(reply.blocked, 3);
  stopped(claim);
  reply = must(store().backlog(request));
  EXPECT_TRUE(reply.claimable);
  EXPECT_EQ(reply.blocked, 1);
}

TEST_P(LimitConformance, ABacklogOfAPausedQueueIsBlockedExpiredLeasesIncluded) {
  const BacklogRequest request{.ns = "default", .queues = {"q"}};
  added(new_job());
  added(new_job());
  claimed_by("a");
  pause();
  BacklogReply reply = must(store().backlog(request));
  EXPECT_TRUE(reply.running);
  EXPECT_FALSE(reply.claimable);
  EXPECT_EQ(reply.blocked, 1);
  let_time_pass(kTtl);
  reply = must(store().backlog(request));
  EXPECT_FALSE(reply.running);
  EXPECT_EQ(reply.blocked, 2);
  resume();
  reply = must(store().backlog(request));
  EXPECT_TRUE(reply.claimable);
  EXPECT_EQ(reply.blocked, 0);
}

TEST_P(LimitConformance, LimitsOutliveTheProcess) {
  set_queue({.limit = 1});
  added(new_job());
  added(new_job());
  claimed_by("a");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
}

}  // namespace
}  // namespace fenceline::test
