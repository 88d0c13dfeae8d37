// What every store promises about the history of a job: one attempt a delivery, with how it ended.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

std::vector<Attempt> attempts_of(Store& store, const JobId& id) { return must(store.attempts("default", id)); }

TEST_P(HistoryConformance, ADeliveryAtHandHasNoEnd) {
  const JobId id = added(new_job());
  EXPECT_TRUE(attempts_of(store(), id).empty());
  let_time_pass(1s);
  const ClaimedJob claim = claimed_as_next(id);
  const Attempt running{.delivery = 1, .fence = claim.job.fence, .owner = "a", .started_at = wall()};
  EXPECT_EQ(attempts_of(store(), id), std::vector{running});
  let_time_pass(kTtl);
  EXPECT_EQ(attempts_of(store(), id), std::vector{running}) << "nobody took it over yet";
}

TEST_P(HistoryConformance, EveryOutcomeIsAnEnd) {
  const JobId id = added(new_job());
  std::vector<Attempt> expected;
  const std::vector<Outcome> outcomes{{.kind = OutcomeKind::failed, .error = "no", .exit_status = 1},
                                      {.kind = OutcomeKind::later, .error = "is not kept", .exit_status = 75},
                                      {.kind = OutcomeKind::given_back},
                                      {.kind = OutcomeKind::dead, .error = "never", .exit_status = 65},
                                      {.kind = OutcomeKind::done, .result = "r", .exit_status = 0}};
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(look(id).state == JobState::dead ? retried(id) : "", "");
    const ClaimedJob claim = claimed_as_next(id, "w" + std::to_string(expected.size()));
    Attempt attempt{
        .delivery = claim.job.deliveries, .fence = claim.job.fence, .owner = claim.job.owner, .started_at = wall()};
    let_time_pass(1s);
    EXPECT_EQ(ended(claim, outcome), "");
    attempt.ended_at = wall();
    attempt.end = attempt_end(outcome.kind);
    attempt.exit_status = outcome.exit_status;
    if (outcome.kind == OutcomeKind::failed || outcome.kind == OutcomeKind::dead) attempt.error = outcome.error;
    expected.push_back(attempt);
    EXPECT_EQ(attempts_of(store(), id), expected);
    EXPECT_EQ(look(id).exit_status, outcome.exit_status);
    EXPECT_EQ(ended(claim, outcome), "") << "a repeat";
    EXPECT_EQ(attempts_of(store(), id), expected);
  }
}

TEST_P(HistoryConformance, ALostDeliveryEndsWhenItsJobIsTakenOver) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  const WallTime started = wall();
  let_time_pass(kTtl + 5s);
  const ClaimedJob second = claimed_as_next(id, "b");
  EXPECT_EQ(
      attempts_of(store(), id),
      (std::vector<Attempt>{{1, first.job.fence, "a", started, wall(), AttemptEnd::lost, std::nullopt, ""},
                            {2, second.job.fence, "b", wall(), std::nullopt, AttemptEnd::running, std::nullopt, ""}}));
}

TEST_P(HistoryConformance, TheFifthLossEndsWithTheBurial) {
  const JobId id = added(new_job());
  lose(id, 5);
  let_time_pass(1s);
  EXPECT_TRUE(claimed(asking("buries")).empty());
  const std::vector<Attempt> attempts = attempts_of(store(), id);
  ASSERT_EQ(attempts.size(), 5u);
  for (const Attempt& attempt : attempts) EXPECT_EQ(attempt.end, AttemptEnd::lost);
  EXPECT_EQ(attempts.back().ended_at, wall());
  EXPECT_EQ(attempts.back().error, "");
}

TEST_P(HistoryConformance, AnActEndsADelivery) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  let_time_pass(1s);
  EXPECT_EQ(retried(id), "");
  stopped(first);
  const ClaimedJob second = claimed_as_next(id);
  EXPECT_EQ(cancelled(id), "");
  const std::vector<Attempt> attempts = attempts_of(store(), id);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0],
            (Attempt{1, first.job.fence, "a", wall() - 1s, wall(), AttemptEnd::retried, std::nullopt, ""}));
  EXPECT_EQ(attempts[1], (Attempt{2, second.job.fence, "a", wall(), wall(), AttemptEnd::cancelled, std::nullopt, ""}));
  EXPECT_EQ(ended(second), "superseded");
  EXPECT_EQ(attempts_of(store(), id), attempts);
}

TEST_P(HistoryConformance, AGiveBackEndsADelivery) {
  const JobId id = added(new_job());
  const ClaimRequest request = asking("a");
  ASSERT_EQ(claimed_ids(request), std::vector{id});
  must(give_back(request));
  EXPECT_EQ(attempts_of(store(), id).at(0).end, AttemptEnd::given_back);
  EXPECT_EQ(attempts_of(store(), id).at(0).ended_at, wall());
}

TEST_P(HistoryConformance, FiftyAttemptsAreKeptTheLastOnes) {
  const JobId id = added(new_job());
  for (int i = 0; i < 53; ++i) EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::later}), "");
  claimed_as_next(id);
  const std::vector<Attempt> attempts = attempts_of(store(), id);
  ASSERT_EQ(attempts.size(), kAttemptsKept);
  EXPECT_EQ(attempts.front().delivery, 5);
  EXPECT_EQ(attempts.back().delivery, 54);
  EXPECT_EQ(attempts.back().end, AttemptEnd::running);
}

TEST_P(HistoryConformance, AttemptsOutliveTheProcess) {
  const JobId id = added(new_job());
  EXPECT_EQ(ended(claimed_as_next(id), {.kind = OutcomeKind::failed, .error = "no", .exit_status = 3}), "");
  claimed_as_next(id);
  const std::vector<Attempt> before = attempts_of(store(), id);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(attempts_of(store(), id), before);
}

}  // namespace
}  // namespace fenceline::test
