// What a worker's outcomes make of items, on the memory store; time and the fate of each call are the test's.
#include "services/stage_store.hpp"

#include "services/schedule_acts.hpp"
#include "support/pipeline_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

using StageStoreTest = PipelineOnMemory;

TEST_F(StageStoreTest, P1_AnItemPassesItsStagesInOrderAndItsEntries) {
  const JobId id = enqueue();
  EXPECT_TRUE(claim("review").empty());
  work("ready");
  EXPECT_EQ(job(id).stage, "review");
  EXPECT_TRUE(claim("publish").empty());
  work("review");
  EXPECT_EQ(job(id).stage, "gate:publish");
  EXPECT_TRUE(claim("publish").empty()) << "nobody approved";
  EXPECT_TRUE(claim("gate:publish").empty()) << "its time is not over";
  must(acts.approve(id, {}, ana));
  work("publish");
  EXPECT_TRUE(claim("announce").empty()) << "nobody checked";
  work("gate:announce");
  const std::vector<Job> last = claim("announce");
  ASSERT_EQ(last.size(), 1U);
  EXPECT_TRUE(settle(last.front(), {.result = "out"}).refused.empty());
  EXPECT_EQ(job(id).state, JobState::done);
  EXPECT_EQ(job(id).result, "out");
  EXPECT_EQ(trail(),
            (std::vector<std::string>{
                "item_advanced ready -> review by worker", "item_advanced review -> entry of publish by worker",
                "item_approved publish, 1 of 1 by ana", "item_advanced publish -> entry of announce by worker",
                "item_advanced entry of announce -> announce by worker"}));
}

TEST_F(StageStoreTest, ASettlementSaysWhereItsItemWentAlsoWhenItIsSentAgain) {
  const JobId id = enqueue();
  const auto moves = [&](const Job& delivery) {
    std::vector<std::string> out;
    for (const ItemMoved& one : settle(delivery).moved) {
      EXPECT_EQ(one.id, id);
      EXPECT_EQ(one.fence, delivery.fence);
      out.push_back(one.to + " " + one.waits);
    }
    return out;
  };
  const Job first = claim("ready").at(0);
  EXPECT_EQ(moves(first), std::vector<std::string>{"review "});
  EXPECT_EQ(moves(first), std::vector<std::string>{"review "}) << "the reply was lost";
  EXPECT_EQ(moves(claim("review").at(0)), std::vector<std::string>{"publish approval"});
  must(acts.approve(id, {}, ana));
  EXPECT_EQ(moves(claim("publish").at(0)), std::vector<std::string>{"announce check"});
  work("gate:announce");
  EXPECT_EQ(moves(claim("announce").at(0)), std::vector<std::string>{}) << "it is done";
}

TEST_F(StageStoreTest, AJobIsHandedOutAsItsStageSays) {
  enqueue();
  const Job first = claim("ready").at(0);
  EXPECT_EQ(first.stage, "ready") << "by the name that people know";
  EXPECT_EQ(first.timeout, Duration{0});
  EXPECT_EQ(first.attempts_max, kAttemptsMaxDefault);
  settle(first);
  const Job second = claim("review").at(0);
  EXPECT_EQ(second.timeout, 5min);
  EXPECT_EQ(second.attempts_max, 2);
}

TEST_F(StageStoreTest, P2_TheAdvanceAndTheReleaseAreOneStepUnderTheFence) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  clock.advance(31s);
  const Job taken = claim("ready", "other").at(0);
  const SettleReply late = settle(held);
  ASSERT_EQ(late.refused.size(), 1U);
  EXPECT_EQ(late.refused[0].reason, Reason::superseded);
  EXPECT_EQ(job(id).stage, "") << "a late outcome advances nothing";
  EXPECT_TRUE(settle(taken, {}, "other").refused.empty());
  EXPECT_EQ(job(id).stage, "review");
  EXPECT_EQ(job(id).state, JobState::ready);
  EXPECT_EQ(settle(held).refused.size(), 1U);
  EXPECT_EQ(record(id).moved_under, taken.fence);
}

TEST_F(StageStoreTest, P2_AnOutcomeWhoseReplyGotLostCountsOnce) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  road.replies_lost = 1;
  const SettleRequest request{.ns = "default", .owner = "w", .settlements = {{held.id, held.fence, {}}}};
  EXPECT_EQ(code_of(stages.settle(request)), Code::in_doubt);
  EXPECT_TRUE(must(stages.settle(request)).refused.empty());
  EXPECT_EQ(job(id).stage, "review");
  // Another has it by now, and is not disturbed.
  const Job next = claim("review", "other").at(0);
  EXPECT_TRUE(must(stages.settle(request)).refused.empty()) << "it was accepted, whatever became of it";
  EXPECT_EQ(job(id).fence, next.fence);
  EXPECT_EQ(job(id).state, JobState::running);
  EXPECT_EQ(trail().size(), 1U);
}

TEST_F(StageStoreTest, FailuresCountByTheStage) {
  const JobId id = enqueue();
  work("ready");
  for (const int failure : {1, 2}) {
    const Job held = claim("review").at(0);
    settle(held, {.kind = OutcomeKind::failed, .error = "no", .retry_in = 1s});
    EXPECT_EQ(job(id).state, failure == 2 ? JobState::dead : JobState::ready);
    clock.advance(2s);
  }
  EXPECT_EQ(job(id).stage, "review");
  must(memory.retry({.ns = "default", .ids = {id}, .request = "r", .only = {}, .act = ana}));
  work("review");
  EXPECT_EQ(job(id).stage, "gate:publish") << "a retry goes on at its stage";
}

TEST_F(StageStoreTest, AStageMayAllowMoreFailuresThanTheJob) {
  const JobId id = enqueue("docs", "", 1);
  work("ready");
  settle(claim("review").at(0), {.kind = OutcomeKind::failed, .error = "once", .retry_in = 1s});
  EXPECT_EQ(job(id).state, JobState::ready);
  EXPECT_EQ(job(id).failures, 1);
  EXPECT_EQ(job(id).error, "once");
  EXPECT_TRUE(claim("review").empty()) << "not at once";
  clock.advance(2s);
  settle(claim("review").at(0), {.kind = OutcomeKind::failed, .error = "twice", .retry_in = 1s});
  EXPECT_EQ(job(id).state, JobState::dead);
}

TEST_F(StageStoreTest, J8_AFailureWithoutAWordCountsToo) {
  const JobId id = enqueue("docs", "", 1);
  work("ready");
  for (int n = 0; n < 2; ++n) settle(claim("review").at(0), {.kind = OutcomeKind::failed});
  EXPECT_EQ(job(id).state, JobState::dead);
}

TEST_F(StageStoreTest, EachStageBeginsWithNoFailures) {
  const JobId id = enqueue();
  settle(claim("ready").at(0), {.kind = OutcomeKind::failed, .error = "no", .retry_in = Duration{0}});
  EXPECT_EQ(job(id).failures, 1);
  work("ready");
  EXPECT_EQ(job(id).failures, 0);
}

TEST_F(StageStoreTest, LaterAndGivenBackCostNothingAndMoveNothing) {
  const JobId id = enqueue();
  settle(claim("ready").at(0), {.kind = OutcomeKind::later, .retry_in = 1s});
  clock.advance(2s);
  settle(claim("ready").at(0), {.kind = OutcomeKind::given_back});
  EXPECT_EQ(job(id).stage, "");
  EXPECT_EQ(job(id).failures, 0);
  EXPECT_TRUE(trail().empty());
}

TEST_F(StageStoreTest, WhatIsHeldWhileItRunsWaitsWhereItsOutcomeLeads) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  must(acts.hold(id, ana));
  EXPECT_EQ(job(id).state, JobState::running) << "its work ends first";
  EXPECT_TRUE(settle(held).refused.empty());
  EXPECT_EQ(job(id).stage, "review");
  EXPECT_EQ(job(id).state, JobState::waiting);
  must(acts.release(id, ana));
  work("review");
}

TEST_F(StageStoreTest, AHoldThatComesBetweenReadingAndChangingIsSeen) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  road.before_change = [&] { must(acts.hold(id, ana)); };
  EXPECT_TRUE(settle(held).refused.empty());
  EXPECT_EQ(job(id).stage, "review");
  EXPECT_EQ(job(id).state, JobState::waiting);
}

TEST_F(StageStoreTest, WhatIsHeldIsNotHandedOutEvenIfItsWorkerDied) {
  const JobId id = enqueue();
  ASSERT_EQ(claim("ready").size(), 1U);
  must(acts.hold(id, ana));
  clock.advance(31s);
  EXPECT_TRUE(claim("ready", "other").empty());
  EXPECT_EQ(job(id).state, JobState::waiting);
  EXPECT_EQ(job(id).losses_in_row, 1) << "nothing ran since";
  EXPECT_EQ(must(memory.attempts("default", id)).back().end, AttemptEnd::given_back) << "at no cost";
  must(acts.release(id, ana));
  EXPECT_EQ(claim("ready", "other").size(), 1U);
}

TEST_F(StageStoreTest, AFailureWhileItIsHeldKeepsItsPause) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  must(acts.hold(id, ana));
  settle(held, {.kind = OutcomeKind::failed, .error = "no", .retry_in = 10min});
  EXPECT_EQ(job(id).state, JobState::waiting);
  must(acts.release(id, ana));
  EXPECT_TRUE(claim("ready").empty());
  clock.advance(10min);
  EXPECT_EQ(claim("ready").size(), 1U);
}

// As a newer version would write it.
std::string newer(std::string text) { return text.replace(text.find("\"version\":1"), 11, "\"version\":9"); }

TEST_F(StageStoreTest, AnItemWithTheRecordOfANewerVersionHoldsUpNoOther) {
  const JobId strange = enqueue();
  const JobId known = enqueue();
  const std::vector<Job> both = claim("ready");
  ASSERT_EQ(both.size(), 2U);
  must(memory.change_items({.ns = "default",
                            .owner = "",
                            .request = "r",
                            .changes = {{.id = strange, .record = newer(record_text({})), .act = "item_held"}},
                            .act = ana}));
  EXPECT_TRUE(must(stages.settle({.ns = "default",
                                  .owner = "w",
                                  .settlements = {{both[0].id, both[0].fence, {}}, {both[1].id, both[1].fence, {}}}}))
                  .refused.empty());
  EXPECT_EQ(job(known).stage, "review") << "its outcome counts";
  EXPECT_EQ(job(strange).stage, "");
  EXPECT_EQ(job(strange).state, JobState::ready) << "where it leads is not for this version to say";
  const JobId next = enqueue();
  const std::vector<Job> claimed = claim("ready");
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].id, next);
  EXPECT_TRUE(claim("ready").empty()) << "not again at once";
  EXPECT_EQ(job(strange).failures, 0);
}

TEST_F(StageStoreTest, APipelineOfANewerVersionIsLeftToOthersAndHoldsUpNoOtherQueue) {
  const JobId strange = enqueue();
  enqueue("mail");
  const Job held = claim("ready").at(0);
  const std::int64_t revision = must(memory.pipelines("default")).at(0).revision;
  must(memory.put_pipeline({.ns = "default",
                            .name = "docs",
                            .spec = newer(pipeline_text(docs_pipeline())),
                            .revision = revision,
                            .act = ana}));
  clock.advance(2s);
  settle(held);
  EXPECT_EQ(job(strange).state, JobState::ready);
  EXPECT_EQ(job(strange).stage, "");
  EXPECT_TRUE(claim("ready").empty());
  EXPECT_FALSE(must(stages.backlog({.ns = "default", .queues = {"docs"}, .stage = "ready"})).claimable)
      << "a drain ends";
  const ClaimReply rest = must(stages.claim({.ns = "default",
                                             .queues = {"docs", "mail"},
                                             .stage = "",
                                             .owner = "w",
                                             .request = "both",
                                             .limit = 10,
                                             .ttl = 30s}));
  ASSERT_EQ(rest.jobs.size(), 1U);
  EXPECT_EQ(rest.jobs[0].job.queue, "mail");
  EXPECT_TRUE(settle(rest.jobs[0].job).refused.empty());
}

TEST_F(StageStoreTest, AClaimThatCannotBeLookedThroughIsInDoubtAndItsRepeatBringsTheSame) {
  const JobId id = enqueue();
  road.items_refused = 1;
  const ClaimRequest request{
      .ns = "default", .queues = {"docs"}, .stage = "ready", .owner = "w", .request = "one", .limit = 1, .ttl = 30s};
  EXPECT_EQ(code_of(stages.claim(request)), Code::in_doubt);
  const ClaimReply repeat = must(stages.claim(request));
  ASSERT_EQ(repeat.jobs.size(), 1U);
  EXPECT_EQ(repeat.jobs[0].job.id, id);
}

TEST_F(StageStoreTest, WhatIsCancelledWhileAClaimIsLookedThroughIsNotHandedOut) {
  const JobId gone = enqueue();
  const JobId kept = enqueue();
  road.before_items = [&] { must(memory.cancel({.ns = "default", .ids = {gone}, .request = "c", .act = ana})); };
  const std::vector<Job> claimed = claim("ready");
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].id, kept);
}

TEST_F(StageStoreTest, P1_WhatWasPutAtAStagePastTheOthersIsHeldForAPerson) {
  const JobId id = enqueue("docs", "publish");
  EXPECT_TRUE(claim("publish").empty());
  EXPECT_EQ(job(id).state, JobState::waiting);
  EXPECT_TRUE(record(id).hold);
  must(acts.release(id, ana));
  EXPECT_EQ(claim("publish").size(), 1U) << "a person said so";
}

TEST_F(StageStoreTest, AnEditIsInForceForTheNextOutcome) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  PipelineSpec spec = docs_pipeline();
  spec.stages[1].entry = {.kind = EntryKind::approval};
  apply(spec);
  settle(held);
  EXPECT_EQ(job(id).stage, "gate:review");
}

PipelineSpec handing_on() {
  PipelineSpec spec = docs_pipeline();
  for (const std::size_t stage : {1U, 2U}) spec.stages[stage].input = StageInput::previous;
  return spec;
}

TEST_F(StageStoreTest, AStageWithInputPreviousGetsTheOutputOfTheStageBefore) {
  apply(handing_on());
  const JobId id = enqueue();
  const Job first = claim("ready").at(0);
  EXPECT_EQ(first.payload, job(id).payload);
  settle(first, {.result = "a draft\n"});
  const Job second = claim("review").at(0);
  EXPECT_EQ(second.payload, "a draft\n");
  EXPECT_EQ(job(id).payload, first.payload) << "the job keeps its own";
  settle(second, {.result = "reviewed"});
  must(acts.approve(id, {}, ana));
  const Job third = claim("publish").at(0);
  EXPECT_EQ(third.payload, "reviewed") << "through the entry condition";
  must(acts.reject(id, "", {.actor = "ana", .reason = "once more"}));
  clock.advance(31s);
  EXPECT_EQ(claim("review").at(0).payload, "a draft\n") << "of its own predecessor, wherever it comes from";
}

TEST_F(StageStoreTest, TheOutputOfTheLastAcceptedRunIsHandedOn) {
  apply(handing_on());
  const JobId id = enqueue();
  const Job lost = claim("ready").at(0);
  clock.advance(31s);
  const Job taken = claim("ready", "other").at(0);
  ASSERT_EQ(settle(lost, {.result = "late"}).refused.size(), 1U);
  settle(taken, {.result = "in time"}, "other");
  EXPECT_EQ(claim("review").at(0).payload, "in time");
  EXPECT_EQ(record(id).outputs, (std::map<std::string, std::string>{{"ready", "in time"}}));
}

TEST_F(StageStoreTest, AnItemThatSkippedTheStageBeforeGetsEmptyInput) {
  apply(handing_on());
  const JobId id = enqueue();
  must(acts.move(id, "review", ana));
  EXPECT_EQ(claim("review").at(0).payload, "");
}

TEST_F(StageStoreTest, AnOutputThatCannotBeHandedOnEndsInTheDeadLetters) {
  apply(handing_on());
  const JobId large = enqueue();
  settle(claim("ready").at(0), {.result = std::string(kHandedOnBytesMax + 1, 'x')});
  EXPECT_EQ(job(large).state, JobState::dead);
  EXPECT_NE(job(large).error.find("8192"), std::string::npos) << job(large).error;
  const JobId bytes = enqueue();
  settle(claim("ready").at(0), {.result = "\xff"});
  EXPECT_EQ(job(bytes).state, JobState::dead);
  const JobId most = enqueue();
  settle(claim("ready").at(0), {.result = std::string(kHandedOnBytesMax, '\1')});  // six bytes each in JSON
  EXPECT_EQ(job(most).stage, "review");
}

TEST_F(StageStoreTest, JobsOfOtherQueuesPassThrough) {
  const JobId id = enqueue("mail");
  const Job held = claim("", "w", "mail").at(0);
  EXPECT_EQ(held.stage, "");
  EXPECT_TRUE(settle(held, {.result = "sent"}).refused.empty());
  EXPECT_EQ(job(id).state, JobState::done);
  EXPECT_EQ(road.changes, 0);
}

TEST_F(StageStoreTest, APipelineIsKnownTwoSecondsAfterItWasApplied) {
  PipelineSpec spec{.name = "mail", .stages = {{.name = "write"}, {.name = "send"}}};
  const JobId id = enqueue("mail");
  const Job held = claim("", "w", "mail").at(0);
  apply(spec);
  clock.advance(2s);
  settle(held);
  EXPECT_EQ(job(id).stage, "send");
}

TEST_F(StageStoreTest, TheTimeForAnApprovalIsOverWhenSomebodyLooks) {
  const JobId id = enqueue();
  work("ready");
  work("review");
  clock.advance(48h);
  work("gate:publish");
  EXPECT_EQ(job(id).stage, "review");
  EXPECT_EQ(record(id).returns, 1);
  EXPECT_EQ(trail().back(), "item_expired entry of publish -> review by worker");
}

TEST_F(StageStoreTest, ACheckThatSaysNothingIsAskedAgainAtNoCost) {
  const JobId id = enqueue();
  work("ready");
  work("review");
  must(acts.approve(id, {}, ana));
  work("publish");
  for (int n = 0; n < 30; ++n) {
    settle(claim("gate:announce").at(0), {.kind = n % 2 == 0 ? OutcomeKind::failed : OutcomeKind::later,
                                          .error = n % 2 == 0 ? "exit status 1" : "",
                                          .retry_in = 1s});
    EXPECT_TRUE(claim("gate:announce").empty());
    clock.advance(5min);
  }
  EXPECT_EQ(job(id).failures, 0);
  EXPECT_EQ(job(id).state, JobState::ready);
  settle(claim("gate:announce").at(0), {.kind = OutcomeKind::dead, .error = "links are broken"});
  EXPECT_EQ(job(id).stage, "gate:publish") << "sent back, to the entry condition of the stage before";
  EXPECT_EQ(record(id).returned->word.reason, "links are broken");
}

TEST_F(StageStoreTest, ADrainWaitsForTheEntryOfItsStageIfItIsWorkedHere) {
  const JobId id = enqueue();
  work("ready");
  work("review");
  must(acts.approve(id, {}, ana));
  work("publish");
  const BacklogRequest request{.ns = "default", .queues = {"docs"}, .stage = "announce"};
  EXPECT_FALSE(must(stages.backlog(request)).claimable) << "others run the checks";
  StageStore checking{runtime, road, {.ns = "default", .queues = {"docs"}, .run_checks = true}};
  EXPECT_TRUE(must(checking.backlog(request)).claimable);
}

TEST_F(StageStoreTest, ADrainDoesNotWaitForAnEntryThatNobodyLooksAfter) {
  const JobId id = enqueue();
  work("ready");
  work("review");
  PipelineSpec open = docs_pipeline();
  open.stages[2].entry = {};
  must(memory.put_pipeline({.ns = "default",
                            .name = "docs",
                            .spec = pipeline_text(open),
                            .revision = 1,
                            .act = ana}));  // whoever applied it died before looking at the items
  clock.advance(48h);
  EXPECT_FALSE(must(stages.backlog({.ns = "default", .queues = {"docs"}, .stage = "publish"})).claimable);
  EXPECT_EQ(apply(open).refitted, 1);
  EXPECT_EQ(job(id).stage, "publish");
}

TEST_F(StageStoreTest, J8_WhatIsRetriedAtAnEntryThatWaitsForPeopleWaitsAgain) {
  PipelineSpec spec = docs_pipeline();
  spec.stages[2].entry = {.kind = EntryKind::approval};
  apply(spec);
  const JobId id = enqueue();
  work("ready");
  work("review");
  must(memory.cancel({.ns = "default", .ids = {id}, .request = "c", .only = {}, .act = ana}));
  must(memory.retry({.ns = "default", .ids = {id}, .request = "r", .only = {}, .act = ana}));
  ASSERT_TRUE(is_looked_after(spec.stages[2].entry, false));
  EXPECT_TRUE(must(stages.backlog({.ns = "default", .queues = {"docs"}, .stage = "publish"})).claimable);
  settle(claim("gate:publish").at(0), {.kind = OutcomeKind::later});
  EXPECT_EQ(job(id).state, JobState::waiting);
  EXPECT_FALSE(must(stages.backlog({.ns = "default", .queues = {"docs"}, .stage = "publish"})).claimable)
      << "a drain ends";
  must(acts.approve(id, {}, ana));
  EXPECT_EQ(job(id).stage, "publish");
}

TEST_F(StageStoreTest, P1_AWorkerOfTheOldFirstStageGetsNothingOfTheNewOne) {
  EXPECT_TRUE(claim("ready").empty());
  PipelineSpec spec = docs_pipeline();
  spec.stages.insert(spec.stages.begin(), StageSpec{.name = "triage"});
  apply(spec);
  const JobId id = enqueue();
  EXPECT_TRUE(claim("ready").empty()) << "it is at triage";
  EXPECT_EQ(job(id).state, JobState::ready);
  work("triage");
  EXPECT_EQ(job(id).stage, "ready");
  work("ready");
  EXPECT_EQ(job(id).stage, "review");
}

TEST_F(StageStoreTest, P1_AStageThatIsTheFirstOfOneQueueOnlyIsServedInEachAsItIsThere) {
  apply({.name = "mail", .stages = {{.name = "review"}, {.name = "send"}}});
  const JobId doc = enqueue();
  const JobId letter = enqueue("mail");
  const auto claimed = [&](const std::vector<std::string>& queues) {
    std::vector<JobId> ids;
    for (const ClaimedJob& one : must(stages.claim({.ns = "default",
                                 .queues = queues,
                                 .stage = "review",
                                 .owner = "w",
                                 .request = "mixed" + std::to_string(++number),
                                 .limit = 10,
                                 .ttl = 30s}))
                                     .jobs)
      ids.push_back(one.job.id);
    return ids;
  };
  EXPECT_EQ(claimed({"docs", "mail"}), std::vector<JobId>{}) << "it is at ready";
  EXPECT_TRUE(must(stages.backlog({.ns = "default", .queues = {"docs", "mail"}, .stage = "review"})).claimable);
  EXPECT_EQ(claimed({"mail", "docs"}), std::vector<JobId>{letter});
  work("ready");
  EXPECT_EQ(claimed({"docs", "mail"}), std::vector<JobId>{doc});
}

TEST_F(StageStoreTest, J8_ANewJobThatNamesTheFirstStageIsWorkedOn) {
  const JobId id = make_uuid7(clock.wall_now(), 1, 2);
  must(stages.enqueue({.ns = "default", .jobs = {{.id = id, .queue = "docs", .stage = "ready"}}}));
  EXPECT_EQ(job(id).stage, "");
  const JobId other = make_uuid7(clock.wall_now(), 1, 3);
  must(stages.enqueue({.ns = "default", .jobs = {{.id = other, .queue = "mail", .stage = "ready"}}}));
  EXPECT_EQ(job(other).stage, "ready") << "that queue has no pipeline";
}

TEST_F(StageStoreTest, J8_AScheduleThatNamesTheFirstStageFiresJobsThatAreWorkedOn) {
  // Of a queue that is none of the worker's own.
  apply({.name = "reports", .stages = {{.name = "gather"}, {.name = "send"}}});
  ScheduleSpec hourly;
  hourly.cron = "0 * * * *";
  hourly.queue = "reports";
  hourly.stage = "gather";
  ScheduleActs schedules(runtime, stages, {.ns = "default", .place = "here"});
  const ScheduleRow row = must(schedules.put("hourly", hourly)).schedule;
  EXPECT_EQ(job(must(schedules.run("hourly"))).stage, "") << "by hand";
  clock.advance(2h);
  const JobId id = make_uuid7(clock.wall_now(), 3, 4);
  const FiredTick tick{row.resolved_to + 1h, {.id = id, .queue = "reports", .stage = "gather"}};
  const StepReply stepped = must(stages.step_ticks({.ns = "default",
                                                    .steps = {{.schedule = "hourly",
                                                               .revision = row.revision,
                                                               .from = row.resolved_to,
                                                               .to = row.resolved_to + 1h,
                                                               .fired = {tick},
                                                               .skipped = {}}},
                                                    .request = "s",
                                                    .owner = "w",
                                                    .place = "here"}));
  EXPECT_EQ(stepped.answers.at(0).refused, Reason::none);
  EXPECT_EQ(job(id).stage, "");
}

}  // namespace
}  // namespace fenceline::test
