// What every store promises when a claim is repeated after a lost reply, or given back because it stayed in doubt.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(JobConformance, J2_ARepeatReturnsTheSameGrantsAndNeverOthers) {
  added(new_job());
  added(new_job());
  const ClaimRequest request = asking("a", 3);
  const std::vector<ClaimedJob> first = claimed(request);
  ASSERT_EQ(first.size(), 2u);
  added(new_job());
  let_time_pass(500ms);
  const std::vector<ClaimedJob> again = claimed(request);
  ASSERT_EQ(again.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(holding_of(again[i]), holding_of(first[i]));
    EXPECT_EQ(again[i].left, kTtl - 500ms) << "what is left of it, not a new ttl";
    EXPECT_EQ(again[i].job.payload, first[i].job.payload);
    EXPECT_EQ(again[i].job.deliveries, 1);
  }
}

TEST_P(JobConformance, J2_ARepeatReturnsOnlyWhatIsStillHeld) {
  for (int i = 0; i < 3; ++i) added(new_job());
  const ClaimRequest request = asking("a", 3);
  const std::vector<ClaimedJob> first = claimed(request);
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(settled("a", holding_of(first[0]), {.kind = OutcomeKind::done}), "");
  ASSERT_EQ(settled("a", holding_of(first[1]), {.kind = OutcomeKind::failed}), "");
  EXPECT_EQ(claimed_ids(request), std::vector{first[2].job.id});
}

TEST_P(JobConformance, J2_ARepeatDoesNotReturnAJobThatWasGrantedAnewToTheSameOwner) {
  added(new_job());
  const ClaimRequest request = asking("a");
  const ClaimedJob first = claimed(request).at(0);
  ASSERT_EQ(settled("a", holding_of(first), {.kind = OutcomeKind::given_back}), "");
  const ClaimedJob second = claimed_by("a");
  EXPECT_TRUE(claimed(request).empty());
  EXPECT_EQ(extended("a", holding_of(second)), "");
}

TEST_P(JobConformance, J2_ARepeatTellsOfATakeoverAgain) {
  added(new_job());
  claimed_by("a");
  let_time_pass(kTtl);
  const ClaimRequest request = asking("b");
  const std::vector<ClaimedJob> first = claimed(request);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(first[0].forced);
  EXPECT_EQ(claimed(request), first);
}

TEST_P(JobConformance, J2_ARepeatShowsARenewalOfItsGrants) {
  added(new_job());
  const ClaimRequest request = asking("a");
  const ClaimedJob first = claimed(request).at(0);
  let_time_pass(1s);
  ASSERT_EQ(extended("a", holding_of(first)), "");
  EXPECT_EQ(claimed(request).at(0).left, kTtl);
}

TEST_P(JobConformance, L4_ARepeatDoesNotReturnALeaseThatRanOut) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  const ClaimedJob first = claimed(request).at(0);
  ASSERT_EQ(extended("a", holding_of(first), 1s), "") << "shorter than the request is remembered";
  let_time_pass(1s);
  EXPECT_TRUE(claimed(request).empty());
  EXPECT_EQ(look(id).fence, first.job.fence) << "and grants nothing";
  EXPECT_EQ(claimed_by("b").job.id, id);
}

TEST_P(JobConformance, J2_AfterItsTtlTheSameRequestIsANewClaim) {
  added(new_job());
  const ClaimRequest request = asking("a");
  const ClaimedJob first = claimed(request).at(0);
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(claimed(request).at(0).job.fence, first.job.fence);
  let_time_pass(kMoment);
  const ClaimedJob second = claimed(request).at(0);
  EXPECT_GT(second.job.fence, first.job.fence);
  EXPECT_TRUE(second.forced);
}

TEST_P(JobConformance, J2_ARequestThatGrantedNothingMayGrantWhenRepeated) {
  const ClaimRequest request = asking("a");
  EXPECT_TRUE(claimed(request).empty());
  const JobId id = added(new_job());
  EXPECT_EQ(claimed_ids(request), std::vector{id});
}

TEST_P(JobConformance, J2_TheSameRequestOfAnotherOwnerIsAnother) {
  added(new_job());
  added(new_job());
  ClaimRequest request = asking("a");
  const std::vector<JobId> first = claimed_ids(request);
  request.owner = "b";
  const std::vector<JobId> second = claimed_ids(request);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(first, second);
}

TEST_P(JobConformance, J5_WhatIsGivenBackCostsNothingAndKeepsItsPlace) {
  const JobId id = added(new_job());
  added(new_job());
  const ClaimRequest request = asking("a");
  const ClaimedJob claim = claimed(request).at(0);
  ASSERT_EQ(claim.job.id, id);
  const Job before = look(id);
  let_time_pass(1s);
  EXPECT_TRUE(give_back(request));
  const Job after = look(id);
  EXPECT_EQ(after.state, JobState::ready);
  EXPECT_FALSE(after.lease_left);
  EXPECT_EQ(after.run_at, before.run_at);
  EXPECT_EQ(after.failures + after.losses + after.losses_in_row + after.laters, 0);
  EXPECT_EQ(after.last_outcome, OutcomeKind::given_back);
  EXPECT_EQ(claimed_ids(asking("b")), std::vector{id});
}

TEST_P(JobConformance, AClaimThatWasGivenBackGrantsNothingWhenItArrivesLate) {
  added(new_job());
  const ClaimRequest request = asking("a");
  EXPECT_TRUE(give_back(request));
  EXPECT_TRUE(claimed(request).empty());
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(request).empty());
  EXPECT_EQ(claimed(asking("a")).size(), 1u) << "another request is not held up";
}

TEST_P(JobConformance, J2_ARepeatAfterAGiveBackGrantsNothing) {
  added(new_job());
  const ClaimRequest request = asking("a");
  ASSERT_EQ(claimed(request).size(), 1u);
  let_time_pass(1s);
  EXPECT_TRUE(give_back(request));
  EXPECT_TRUE(claimed(request).empty());
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(claimed(request).empty()) << "for a whole ttl from the return";
}

TEST_P(JobConformance, AGiveBackTouchesOnlyItsOwnGrants) {
  for (int i = 0; i < 4; ++i) added(new_job());
  const ClaimRequest mine = asking("a", 2);
  const std::vector<ClaimedJob> jobs = claimed(mine);
  const ClaimedJob other_request = claimed_by("a");
  ClaimRequest other_owner = asking("b");
  other_owner.request = mine.request;
  const ClaimedJob foreign = claimed(other_owner).at(0);
  ASSERT_EQ(settled("a", holding_of(jobs[0]), {.kind = OutcomeKind::done}), "");
  EXPECT_TRUE(give_back(mine));
  EXPECT_EQ(look(jobs[0].job.id).state, JobState::done);
  EXPECT_EQ(look(jobs[1].job.id).state, JobState::ready);
  EXPECT_EQ(look(other_request.job.id).state, JobState::running);
  EXPECT_EQ(look(foreign.job.id).state, JobState::running);
}

TEST_P(JobConformance, AnExpiredGrantCanStillBeGivenBackAtNoCost) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  claimed(request);
  let_time_pass(kTtl);
  EXPECT_TRUE(give_back(request));
  EXPECT_EQ(look(id).state, JobState::ready);
  EXPECT_EQ(look(id).losses, 0);
}

TEST_P(JobConformance, J3_AGiveBackAfterATakeoverChangesNothing) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  claimed(request);
  let_time_pass(kTtl);
  claimed_by("b");
  const Job before = look(id);
  EXPECT_TRUE(give_back(request));
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, J3_ARepeatedGiveBackDoesNotTouchALaterGrant) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  claimed(request);
  EXPECT_TRUE(give_back(request));
  claimed_by("a");
  const Job before = look(id);
  EXPECT_TRUE(give_back(request));
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, InvalidGiveBacksChangeNothing) {
  added(new_job());
  const ClaimRequest request = asking("a");
  claimed(request);
  const std::vector<Job> before = everything();
  EXPECT_EQ(code_of(store().give_back({.ns = "", .owner = "a", .request = request.request, .ttl = kTtl})),
            Code::invalid);
  EXPECT_EQ(code_of(store().give_back({.ns = "default", .owner = "", .request = request.request, .ttl = kTtl})),
            Code::invalid);
  EXPECT_EQ(code_of(store().give_back({.ns = "default", .owner = "a", .request = "", .ttl = kTtl})), Code::invalid);
  EXPECT_EQ(code_of(store().give_back({.ns = "default", .owner = "a", .request = request.request})), Code::invalid);
  EXPECT_EQ(everything(), before);
}

}  // namespace
}  // namespace fenceline::test
