// What every store promises about a holder's writes: extend and settle, and who is refused.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr OutcomeKind kSettledKinds[] = {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later,
                                         OutcomeKind::given_back};

TEST_P(JobConformance, L4_ARenewalStartsTheTtlAgainAndKeepsTheFence) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_by("a");
  let_time_pass(1s);
  const ExtendReply reply =
      must(store().extend({.ns = "default", .owner = "a", .jobs = {holding_of(claim)}, .ttl = 10s}));
  EXPECT_TRUE(reply.refused.empty());
  EXPECT_EQ(reply.left, 10s);
  EXPECT_EQ(look(id).fence, claim.job.fence);
  EXPECT_EQ(look(id).lease_left, 10s);
  EXPECT_EQ(look(id).deliveries, 1);
  let_time_pass(10s - kMoment);
  EXPECT_TRUE(claimed(asking("b")).empty());
  let_time_pass(kMoment);
  EXPECT_EQ(claimed(asking("b")).size(), 1u);
}

TEST_P(JobConformance, L4_ARenewalMayShortenALease) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  ASSERT_EQ(extended("a", holding_of(claim), 1s), "");
  let_time_pass(1s);
  EXPECT_EQ(claimed(asking("b")).size(), 1u);
}

TEST_P(JobConformance, L4_AnExpiredLeaseIsNeverRenewed) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_by("a");
  let_time_pass(kTtl);
  const Job before = look(id);
  EXPECT_EQ(extended("a", holding_of(claim)), "expired");
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, L4_ARenewalAtTheLastMomentCounts) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(extended("a", holding_of(claim)), "");
}

TEST_P(JobConformance, L4_OnlyTheNewestHolderRenews) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_by("a");
  EXPECT_EQ(extended("b", holding_of(first)), "other_owner");
  EXPECT_EQ(extended("a", {id, first.job.fence - 1}), "superseded");
  EXPECT_EQ(extended("a", {id, first.job.fence + 1}), "superseded");
  EXPECT_EQ(extended("a", {new_id(), first.job.fence}), "not_found");
  let_time_pass(kTtl);
  claimed_by("b");
  const Job before = look(id);
  EXPECT_EQ(extended("a", holding_of(first)), "superseded");
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, L4_ASettledDeliveryIsNotRenewed) {
  added(new_job());
  const ClaimedJob first = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::failed}), "");
  EXPECT_EQ(extended("a", holding_of(first)), "settled");
  const ClaimedJob second = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(second), {.kind = OutcomeKind::done}), "");
  EXPECT_EQ(extended("a", holding_of(second)), "finished");
}

TEST_P(JobConformance, AJobThatWasNeverGrantedHasNoHolder) {
  const JobId id = added(new_job());
  EXPECT_EQ(extended("a", {id, 0}), "other_owner");
  EXPECT_EQ(settled("a", {id, 0}, {.kind = OutcomeKind::done}), "other_owner");
  EXPECT_EQ(look(id).state, JobState::ready);
}

TEST_P(JobConformance, ARefusalNamesBothFences) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_by("a");
  let_time_pass(kTtl);
  const ClaimedJob second = claimed_by("b");
  const JobId nowhere = new_id();
  const SettleReply reply = must(
      store().settle({.ns = "default", .owner = "a", .settlements = {{nowhere, 7, {}}, {id, first.job.fence, {}}}}));
  ASSERT_EQ(reply.refused.size(), 2u);
  EXPECT_EQ(reply.refused[0], (Refusal{nowhere, 7, 0, Reason::not_found}));
  EXPECT_EQ(reply.refused[1], (Refusal{id, first.job.fence, second.job.fence, Reason::superseded}));
}

TEST_P(JobConformance, OneRefusalInABatchDoesNotTouchTheOthers) {
  for (int i = 0; i < 3; ++i) added(new_job());
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 3));
  std::vector<Holding> holdings{holding_of(jobs[0]), holding_of(jobs[1]), holding_of(jobs[2])};
  holdings[1].fence -= 1;
  const ExtendReply renewed = must(store().extend({.ns = "default", .owner = "a", .jobs = holdings, .ttl = 20s}));
  ASSERT_EQ(renewed.refused.size(), 1u);
  EXPECT_EQ(renewed.refused[0].id, holdings[1].id);
  EXPECT_EQ(look(holdings[0].id).lease_left, 20s);
  EXPECT_EQ(look(holdings[1].id).lease_left, kTtl);
  EXPECT_EQ(look(holdings[2].id).lease_left, 20s);
  SettleRequest request{.ns = "default", .owner = "a"};
  for (const Holding& holding : holdings)
    request.settlements.push_back({holding.id, holding.fence, {.kind = OutcomeKind::done}});
  EXPECT_EQ(must(store().settle(request)).refused.size(), 1u);
  EXPECT_EQ(look(holdings[0].id).state, JobState::done);
  EXPECT_EQ(look(holdings[1].id).state, JobState::running);
  EXPECT_EQ(look(holdings[2].id).state, JobState::done);
}

TEST_P(JobConformance, DoneKeepsTheResultToTheByte) {
  added(new_job());
  added(new_job());
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 2));
  std::string bytes;
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i % 256);
  std::string large;
  while (large.size() < kResultBytesMax) large += bytes;
  ASSERT_EQ(settled("a", holding_of(jobs[0]), {.kind = OutcomeKind::done, .result = bytes}), "");
  ASSERT_EQ(settled("a", holding_of(jobs[1]), {.kind = OutcomeKind::done, .result = large}), "");
  EXPECT_EQ(look(jobs[0].job.id).result, bytes);
  EXPECT_EQ(look(jobs[1].job.id).result, large);
  const Job done = look(jobs[0].job.id);
  EXPECT_EQ(done.state, JobState::done);
  EXPECT_EQ(done.finished_at, wall());
  EXPECT_EQ(done.last_outcome, OutcomeKind::done);
  EXPECT_EQ(done.fence, jobs[0].job.fence);
  EXPECT_EQ(done.owner, "a");
  EXPECT_FALSE(done.lease_left);
}

TEST_P(JobConformance, FailedComesBackAfterItsDelayAndCostsAnAttempt) {
  const JobId id = added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")),
                    {.kind = OutcomeKind::failed, .error = std::string("a\0b\xff", 4), .retry_in = 5s}),
            "");
  const Job failed = look(id);
  EXPECT_EQ(failed.state, JobState::ready);
  EXPECT_EQ(failed.failures, 1);
  EXPECT_EQ(failed.error, std::string("a\0b\xff", 4));
  EXPECT_EQ(failed.run_at, wall() + 5s);
  EXPECT_FALSE(failed.finished_at);
  let_time_pass(5s - kMoment);
  EXPECT_TRUE(claimed(asking("a")).empty());
  let_time_pass(kMoment);
  EXPECT_EQ(claimed_by("a").job.deliveries, 2);
}

TEST_P(JobConformance, TheLastFailureIsTheEnd) {
  NewJob job = new_job();
  job.attempts_max = 2;
  added(job);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::failed}), "");
  const ClaimedJob last = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(last), {.kind = OutcomeKind::failed, .error = "again"}), "");
  const Job dead = look(job.id);
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_EQ(dead.failures, 2);
  EXPECT_EQ(dead.finished_at, wall());
  EXPECT_EQ(dead.error, "again");
  EXPECT_EQ(settled("a", holding_of(last), {.kind = OutcomeKind::failed}), "") << "a repeat of what made it dead";
  EXPECT_EQ(settled("a", holding_of(last), {.kind = OutcomeKind::dead}), "finished") << "though dead, it failed";
  EXPECT_TRUE(claimed(asking("b")).empty());
}

TEST_P(JobConformance, DeadIsDeadAtOnce) {
  const JobId id = added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::dead, .error = "bad input"}), "");
  EXPECT_EQ(look(id).state, JobState::dead);
  EXPECT_EQ(look(id).error, "bad input");
  EXPECT_TRUE(claimed(asking("b")).empty());
}

TEST_P(JobConformance, J5_LaterCostsNothingAndIsCounted) {
  NewJob job = new_job();
  job.attempts_max = 1;
  added(job);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::later, .retry_in = 1s}), "");
    EXPECT_EQ(look(job.id).laters, i);
    EXPECT_EQ(look(job.id).failures, 0);
    EXPECT_EQ(look(job.id).state, JobState::ready);
    EXPECT_TRUE(claimed(asking("a")).empty());
    let_time_pass(1s);
  }
}

TEST_P(JobConformance, J5_GivenBackIsReadyInItsOldPlace) {
  const JobId id = added(new_job());
  let_time_pass(1ms);
  added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::given_back, .retry_in = 1h}), "");
  EXPECT_EQ(look(id).failures + look(id).losses + look(id).laters, 0);
  EXPECT_EQ(claimed_by("b").job.id, id);
}

TEST_P(JobConformance, J3_AnOutcomeCountsThoughTheLeaseRanOutIfNobodyTookOver) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_by("a");
  let_time_pass(10 * kTtl);
  EXPECT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done, .result = "late"}), "");
  EXPECT_EQ(look(id).state, JobState::done);
  EXPECT_EQ(look(id).losses, 0);
}

TEST_P(JobConformance, J3_NoOutcomeIsAcceptedUnderAnOlderFence) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_by("a");
  let_time_pass(kTtl);
  const ClaimedJob second = claimed_by("b");
  for (const OutcomeKind kind : kSettledKinds) {
    const Job before = look(id);
    EXPECT_EQ(settled("a", holding_of(first), {.kind = kind}), "superseded");
    EXPECT_EQ(settled("b", holding_of(first), {.kind = kind}), "superseded") << "nor from the newer holder";
    EXPECT_EQ(settled("a", holding_of(second), {.kind = kind}), "other_owner");
    EXPECT_EQ(look(id), before);
  }
  ASSERT_EQ(settled("b", holding_of(second), {.kind = OutcomeKind::done}), "");
  EXPECT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::done}), "superseded") << "nor after the end";
}

TEST_P(JobConformance, J3_TheSameOutcomeSentAgainIsAcceptedAndChangesNothing) {
  for (const OutcomeKind kind : kSettledKinds) {
    const NewJob job = new_job(std::string(to_string(kind)));
    added(job);
    ClaimRequest request = asking("a");
    request.queues = {job.queue};
    const ClaimedJob claim = claimed(request).at(0);
    const Outcome outcome{.kind = kind, .result = "r", .error = "e", .retry_in = 1s};
    ASSERT_EQ(settled("a", holding_of(claim), outcome), "");
    const Job before = look(job.id);
    let_time_pass(1s);
    EXPECT_EQ(settled("a", holding_of(claim), outcome), "") << to_string(kind);
    EXPECT_EQ(settled("a", holding_of(claim), {.kind = kind, .result = "other", .error = "other", .retry_in = 9s}), "");
    EXPECT_EQ(look(job.id), before);
    EXPECT_EQ(settled("b", holding_of(claim), outcome), "other_owner");
  }
}

TEST_P(JobConformance, J3_AnotherOutcomeForTheSameFenceIsRefused) {
  for (const OutcomeKind kind : kSettledKinds) {
    const NewJob job = new_job(std::string(to_string(kind)));
    added(job);
    ClaimRequest request = asking("a");
    request.queues = {job.queue};
    const ClaimedJob claim = claimed(request).at(0);
    ASSERT_EQ(settled("a", holding_of(claim), {.kind = kind, .retry_in = 1s}), "");
    const Job before = look(job.id);
    for (const OutcomeKind other : kSettledKinds) {
      if (other == kind) continue;
      EXPECT_EQ(settled("a", holding_of(claim), {.kind = other}), is_finished(before.state) ? "finished" : "settled");
    }
    EXPECT_EQ(look(job.id), before);
  }
}

TEST_P(JobConformance, J3_ARepeatAfterANewerGrantIsRefused) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::failed}), "");
  claimed_by("a");
  const Job before = look(id);
  EXPECT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::failed}), "superseded");
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, J3_AnOldOutcomeKindDoesNotPassForARepeatUnderANewGrant) {
  const JobId id = added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::failed}), "");
  const ClaimedJob second = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(second), {.kind = OutcomeKind::failed}), "");
  EXPECT_EQ(look(id).failures, 2) << "the second failure was taken for a repeat of the first";
}

TEST_P(JobConformance, InvalidExtendsAndSettlesChangeNothing) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  const Holding held = holding_of(claim);
  const std::vector<Job> before = everything();
  EXPECT_EQ(code_of(store().extend({.ns = "", .owner = "a", .jobs = {held}, .ttl = kTtl})), Code::invalid);
  EXPECT_EQ(code_of(store().extend({.ns = "default", .owner = "", .jobs = {held}, .ttl = kTtl})), Code::invalid);
  EXPECT_EQ(code_of(store().extend({.ns = "default", .owner = "a", .jobs = {held, held}, .ttl = kTtl})), Code::invalid);
  EXPECT_EQ(code_of(store().extend({.ns = "default", .owner = "a", .jobs = {held}, .ttl = 25h})), Code::invalid);
  EXPECT_EQ(code_of(store().extend({.ns = "default", .owner = "a", .jobs = {held}})), Code::invalid);
  const auto settle = [&](std::vector<Settlement> settlements) {
    return code_of(store().settle({.ns = "default", .owner = "a", .settlements = std::move(settlements)}));
  };
  EXPECT_EQ(settle({{held.id, held.fence, {}}, {held.id, held.fence, {}}}), Code::invalid);
  EXPECT_EQ(settle({{held.id, held.fence, {.result = std::string(kResultBytesMax + 1, 'x')}}}), Code::invalid);
  EXPECT_EQ(
      settle({{held.id, held.fence, {.kind = OutcomeKind::failed, .error = std::string(kErrorBytesMax + 1, 'x')}}}),
      Code::invalid);
  EXPECT_EQ(settle({{held.id, held.fence, {.kind = OutcomeKind::later, .retry_in = -1us}}}), Code::invalid);
  EXPECT_EQ(settle({{held.id, held.fence, {}},
                    {new_id(), 1, {.kind = OutcomeKind::later, .retry_in = std::chrono::days{400}}}}),
            Code::invalid);
  EXPECT_EQ(code_of(store().settle({.ns = "a b", .owner = "a", .settlements = {{held.id, held.fence, {}}}})),
            Code::invalid);
  EXPECT_EQ(code_of(store().settle({.ns = "default", .owner = "", .settlements = {{held.id, held.fence, {}}}})),
            Code::invalid);
  EXPECT_EQ(everything(), before);
}

TEST_P(JobConformance, EmptyExtendsAndSettlesAreFine) {
  EXPECT_TRUE(must(store().extend({.ns = "default", .owner = "a", .ttl = kTtl})).refused.empty());
  EXPECT_TRUE(must(store().settle({.ns = "default", .owner = "a"})).refused.empty());
}

TEST_P(JobConformance, J3_OutcomesOutliveTheProcess) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done, .result = "r"}), "");
  const Job before = look(id);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(look(id), before);
  EXPECT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done}), "");
  EXPECT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::failed}), "finished");
}

}  // namespace
}  // namespace fenceline::test
