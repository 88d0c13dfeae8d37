// Workers over a tracker, in all weathers: T1 to T4, P1 and P2, nothing lost and nothing stuck.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "sim/tracker/tracker_plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// FENCELINE_TRACKER_SEEDS makes it longer, FENCELINE_TRACKER_SEED plays one, FENCELINE_TRACKER_TRACE prints all that
// happens.
std::uint64_t seeds_or(std::uint64_t usual) {
  const char* said = std::getenv("FENCELINE_TRACKER_SEEDS");
  return said ? std::strtoull(said, nullptr, 10) : usual;
}

// All seeds; the counts of all of them. Stops at the first that breaks a promise, and says which.
TrackerReport play(TrackerPlan plan, std::uint64_t seeds) {
  StackPool stacks;
  plan.tracing = std::getenv("FENCELINE_TRACKER_TRACE") != nullptr;
  TrackerReport sum;
  const char* only = std::getenv("FENCELINE_TRACKER_SEED");
  const std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + (only ? 1 : seeds); ++seed) {
    const TrackerReport report = TrackerWorld(seed, plan, stacks).run();
    std::printf("%s", report.trace.c_str());
    for (const Violation& violation : report.violations)
      ADD_FAILURE() << violation.promise << " broken: " << violation.sentence
                    << "; repeat with FENCELINE_TRACKER_SEED=" << seed;
    sum.tally.claims += report.tally.claims;
    sum.tally.renewals += report.tally.renewals;
    sum.tally.takeovers += report.tally.takeovers;
    sum.tally.advances += report.tally.advances;
    sum.tally.void_records += report.tally.void_records;
    sum.tally.moves += report.tally.moves;
    sum.tally.restored += report.tally.restored;
    sum.tally.contested += report.tally.contested;
    sum.tally.failures += report.tally.failures;
    sum.tally.worked_twice += report.tally.worked_twice;
    sum.tally.done += report.tally.done;
    sum.workers.lost_races += report.workers.lost_races;
    sum.workers.repairs += report.workers.repairs;
    sum.workers.lost += report.workers.lost;
    sum.workers.limits += report.workers.limits;
    sum.workers.scan_requests += report.workers.scan_requests;
    sum.workers.scan_charged += report.workers.scan_charged;
    sum.workers.claim_requests_most = std::max(sum.workers.claim_requests_most, report.workers.claim_requests_most);
    sum.workers.renewal_requests_most =
        std::max(sum.workers.renewal_requests_most, report.workers.renewal_requests_most);
    sum.model.stale_reads += report.model.stale_reads;
    sum.model.errors_after += report.model.errors_after;
    sum.model.hidden += report.model.hidden;
    sum.tally.approved += report.tally.approved;
    sum.tally.overdue_in += report.tally.overdue_in;
    sum.tally.overdue_back += report.tally.overdue_back;
    sum.tally.sent_back += report.tally.sent_back;
    sum.workers.hint_looks += report.workers.hint_looks;
    sum.webhooks_told += report.webhooks_told;
    sum.webhooks_lost += report.webhooks_lost;
    sum.webhooks_doubled += report.webhooks_doubled;
    sum.forged += report.forged;
    sum.closed += report.closed;
    sum.copied += report.copied;
    sum.handed_on += report.handed_on;
    sum.workers.stopped_by_people += report.workers.stopped_by_people;
    sum.tampered += report.tampered;
    sum.kills += report.kills;
    sum.pauses += report.pauses;
    sum.simulated += report.simulated;
    if (!report.violations.empty()) break;
  }
  std::printf(
      "claims %ld, takeovers %ld, lost races %ld, renewals %ld, advances %ld, void %ld, moves %ld, put back %ld, "
      "contested %ld, failures %ld, worked twice %ld, repairs %ld, claims lost %ld, done %ld\n"
      "kills %ld, pauses %ld, stale reads %ld, 5xx after the write %ld, forged %ld, tampered %ld, shut out %ld; %.0f "
      "hours\n"
      "a claim took at most %d requests, a renewal %d; idle scans: %ld requests, %ld of them charged\n",
      sum.tally.claims, sum.tally.takeovers, sum.workers.lost_races, sum.tally.renewals, sum.tally.advances,
      sum.tally.void_records, sum.tally.moves, sum.tally.restored, sum.tally.contested, sum.tally.failures,
      sum.tally.worked_twice, sum.workers.repairs, sum.workers.lost, sum.tally.done, sum.kills, sum.pauses,
      sum.model.stale_reads, sum.model.errors_after, sum.forged, sum.tampered, sum.workers.limits,
      static_cast<double>(sum.simulated / 1s) / 3600, sum.workers.claim_requests_most,
      sum.workers.renewal_requests_most, sum.workers.scan_requests, sum.workers.scan_charged);
  return sum;
}

TEST(TrackerScenarios, FairWeatherEveryItemPassesAllStagesInFiveRequestsAClaim) {
  TrackerPlan plan;
  plan.fails = 0;
  plan.later = 0;
  const TrackerReport report = play(plan, seeds_or(5));
  EXPECT_LE(report.workers.claim_requests_most, 5);
  EXPECT_EQ(report.workers.renewal_requests_most, 1);
  EXPECT_EQ(report.tally.worked_twice, 0);
  EXPECT_GT(report.tally.renewals, 0);
}

TEST(TrackerScenarios, T1_NobodyWorksBesideAnotherWhileReadsAreTrue) {
  const TrackerReport report = play(true_reads(), seeds_or(20));
  EXPECT_GT(report.tally.takeovers, 0);
  EXPECT_GT(report.workers.lost_races, 0);
  EXPECT_GT(report.workers.lost, 0);
  EXPECT_GT(report.model.errors_after, 0);
  EXPECT_GT(report.copied, 0);
}

TEST(TrackerScenarios, T4_AllFaultsAtOnceLoseNothingAndAdvanceNothingTwice) {
  const TrackerReport report = play(all_faults(), seeds_or(20));
  EXPECT_GT(report.tally.takeovers, 0);
  EXPECT_GT(report.tally.worked_twice, 0);
  EXPECT_GT(report.tally.void_records, 0);
  EXPECT_GT(report.tally.restored, 0);
  EXPECT_GT(report.tally.contested, 0);
  EXPECT_GT(report.tally.moves, 0);
  EXPECT_GT(report.workers.repairs, 0);
  EXPECT_GT(report.workers.stopped_by_people, 0);
  EXPECT_GT(report.handed_on, 0);
  EXPECT_GT(report.closed, 0);
  EXPECT_GT(report.model.stale_reads, 0);
}

TEST(TrackerScenarios, T1_ByCompareAndSwapNobodyWorksBesideAnother) { play(by_swap(true_reads()), seeds_or(20)); }

TEST(TrackerScenarios, T4_ByCompareAndSwapAllFaultsAtOnce) {
  const TrackerReport report = play(by_swap(all_faults()), seeds_or(20));
  EXPECT_GT(report.closed, 0);
  EXPECT_GT(report.handed_on, 0);
}

TEST(TrackerScenarios, T1_WhereIdsAreNotOrderedTheTimeDecidesThenTheId) {
  TrackerPlan plan = true_reads();
  plan.can.ordered_ids = false;
  play(plan, seeds_or(20));
}

TEST(TrackerScenarios, ClaimsThatChangeNoLabelDoAsWell) {
  TrackerPlan plan = all_faults();
  plan.claim_label = false;
  play(plan, seeds_or(10));
}

TEST(TrackerScenarios, WebhooksThatAreLostDoubledAndOutOfOrderDoNoHarm) {
  TrackerPlan plan = all_faults();
  plan.faults.hidden_young = 0.5;
  plan.arrivals = true;
  plan.webhooks = 0.7;
  plan.webhook_doubled = 0.3;
  plan.webhook_late_most = 5min;
  const TrackerReport report = play(plan, seeds_or(10));
  EXPECT_GT(report.webhooks_told, 0);
  EXPECT_GT(report.webhooks_lost, 0);
  EXPECT_GT(report.webhooks_doubled, 0);
  EXPECT_GT(report.workers.hint_looks, 0);
  EXPECT_GT(report.model.hidden, 0);
}

TEST(TrackerScenarios, P1_WhatAHandlerSendsBackGoesBackOnce) {
  TrackerPlan plan = all_faults();
  plan.sends_back = 0.2;
  EXPECT_GT(play(plan, seeds_or(10)).tally.sent_back, 0);
  EXPECT_GT(play(by_swap(plan), seeds_or(10)).tally.sent_back, 0);
}

// Nobody looks at the board for longer than an approval is waited for, now and then.
TrackerPlan slow_people(EntryEnd then) {
  TrackerPlan plan = all_faults();
  plan.entry_within = 30min;
  plan.entry_then = then;
  plan.approves = 0.1;
  return plan;
}

TEST(TrackerScenarios, P1_WhatNobodyApprovesInTimeGoesBack) {
  const TrackerReport report = play(slow_people(EntryEnd::reject), seeds_or(10));
  EXPECT_GT(report.tally.approved, 0);
  EXPECT_GT(report.tally.overdue_back, 0);
  EXPECT_EQ(report.tally.overdue_in, 0);
}

TEST(TrackerScenarios, P1_WhatNobodyApprovesInTimeIsLetInIfItsEntrySaysSo) {
  const TrackerReport report = play(slow_people(EntryEnd::approve), seeds_or(10));
  EXPECT_GT(report.tally.approved, 0);
  EXPECT_GT(report.tally.overdue_in, 0);
  EXPECT_EQ(report.tally.overdue_back, 0);
}

TEST(TrackerScenarios, P1_WhatNobodyApprovesInTimeWaitsOnIfItsEntrySaysSo) {
  const TrackerReport report = play(slow_people(EntryEnd::hold), seeds_or(10));
  EXPECT_GT(report.tally.approved, 0);
  EXPECT_EQ(report.tally.overdue_in + report.tally.overdue_back, 0);
}

TEST(TrackerScenarios, ABotThatFlipsLabelsTenTimesASecondEndsInAContestedItem) {
  TrackerPlan plan;
  plan.items = 3;
  plan.flip_every = 100ms;
  plan.flip_for = 2min;  // workers are there after the first
  plan.storm = 1h;
  StackPool stacks;
  const TrackerReport report = TrackerWorld(1, plan, stacks).run();
  for (const Violation& violation : report.violations)
    ADD_FAILURE() << violation.promise << " broken: " << violation.sentence;
  EXPECT_GT(report.flips, 500);
  EXPECT_TRUE(report.first_item_contested);
  EXPECT_LE(report.first_item_writes, 30);
  std::printf("%ld flips, %ld writes of workers to the item\n", report.flips, report.first_item_writes);
}

TEST(TrackerScenarios, TwentyWorkersOverTwoHundredItemsWithFaultsOn) {
  TrackerPlan plan = all_faults();
  plan.workers = 20;
  plan.items = 200;
  plan.storm = 12h;
  plan.faults.page = 30;
  const TrackerReport report = play(plan, seeds_or(1));
  EXPECT_GE(report.tally.done, 200);
}

}  // namespace
}  // namespace fenceline::sim
