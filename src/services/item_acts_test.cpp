// People's acts on items and pipelines, on the memory store; time and the fate of each call are the test's.
#include "services/item_acts.hpp"

#include "support/pipeline_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct ItemActsTest : PipelineOnMemory {
  JobId at_publish_entry() {
    const JobId id = enqueue();
    work("ready");
    work("review");
    return id;
  }
};

TEST_F(ItemActsTest, P1_AnApprovalWhoseReplyGotLostCountsOnceAndForThisGenerationOnly) {
  const JobId id = at_publish_entry();
  road.replies_lost = 2;
  const ItemReport report = must(acts.approve(id, 1, ana));
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(job(id).stage, "publish");
  EXPECT_EQ(std::ranges::count_if(trail(), [](const std::string& act) { return act.starts_with("item_approved"); }), 1);
  must(acts.reject(id, "review", {.actor = "bo", .reason = "typo"}));
  work("review");
  EXPECT_EQ(code_of(acts.approve(id, 1, ana)), Code::conflict) << "that was the last time";
  EXPECT_EQ(job(id).stage, "gate:publish");
  must(acts.approve(id, 2, ana));
  EXPECT_EQ(job(id).stage, "publish");
}

TEST_F(ItemActsTest, P1_AnItemThatLeftItsEntryWhileSomebodyDecidedIsNotApprovedUnseen) {
  const JobId id = at_publish_entry();
  road.before_change = [&] {
    must(acts.reject(id, "", {.actor = "bo", .reason = "no"}));
    work("review");
  };
  EXPECT_EQ(code_of(acts.approve(id, {}, ana)), Code::conflict);
  EXPECT_EQ(job(id).stage, "gate:publish");
  EXPECT_TRUE(record(id).approvals.empty());
}

TEST_F(ItemActsTest, AnActThatOthersWereFasterThanIsDecidedAnew) {
  PipelineSpec spec = docs_pipeline();
  spec.stages[2].entry.count = 2;
  apply(spec);
  const JobId id = at_publish_entry();
  road.before_change = [&] { must(acts.approve(id, {}, {.actor = "bo", .reason = ""})); };
  must(acts.approve(id, {}, ana));
  EXPECT_EQ(job(id).stage, "publish") << "both count";
}

TEST_F(ItemActsTest, AHoldWhoseReplyWasLostAndThatAnotherReleasedIsNotRepeated) {
  const JobId id = enqueue();
  road.replies_lost = 1;
  road.before_change = [&] {  // the first try; before its repeat somebody releases the item
    road.before_change = [&] {
      must(ItemActs{runtime, memory, "default"}.release(id, {.actor = "bo", .reason = "go"}));
    };
  };
  EXPECT_EQ(code_of(acts.hold(id, ana)), Code::in_doubt);
  EXPECT_FALSE(record(id).hold) << "the release stays";
}

TEST_F(ItemActsTest, AfterALostReplyALookThatFailsLeavesTheActInDoubt) {
  const JobId id = enqueue();
  road.replies_lost = 1;
  road.before_change = [&] {
    road.before_change = [&] {
      must(ItemActs{runtime, memory, "default"}.release(id, {.actor = "bo", .reason = "go"}));
      road.items_refused = 1;
    };
  };
  EXPECT_EQ(code_of(acts.hold(id, ana)), Code::in_doubt);
}

TEST_F(ItemActsTest, WhoMayNotApproveIsDenied) {
  const JobId id = at_publish_entry();
  EXPECT_EQ(code_of(acts.approve(id, {}, {.actor = "eve", .reason = ""})), Code::denied);
  EXPECT_EQ(job(id).stage, "gate:publish");
}

TEST_F(ItemActsTest, OnePersonHasOneSpelling) {
  PipelineSpec spec = docs_pipeline();
  spec.stages[2].entry = {.kind = EntryKind::approval, .count = 2};
  apply(spec);
  const JobId id = at_publish_entry();
  must(acts.approve(id, {}, ana));
  for (const char* const again : {"ana ", " ana", "ana\t", " ", ""})
    EXPECT_EQ(code_of(acts.approve(id, {}, {.actor = again, .reason = ""})), Code::invalid) << "'" << again << "'";
  EXPECT_EQ(job(id).stage, "gate:publish");
}

TEST_F(ItemActsTest, AHoldKeepsTheRunTime) {
  const JobId id = make_uuid7(clock.wall_now(), runtime.random(), runtime.random());
  must(memory.enqueue({.ns = "default", .jobs = {{.id = id, .queue = "docs", .delay = 7h}}}));
  must(acts.hold(id, ana));
  clock.advance(1h);
  must(acts.release(id, ana));
  EXPECT_TRUE(claim("ready").empty());
  clock.advance(6h);
  EXPECT_EQ(claim("ready").size(), 1U);
}

TEST_F(ItemActsTest, AMoveOfARunningItemEndsItsDelivery) {
  const JobId id = enqueue();
  work("ready");
  const Job held = claim("review").at(0);
  must(acts.move(id, "ready", ana));
  EXPECT_EQ(job(id).stage, "");
  EXPECT_EQ(settle(held).refused.at(0).reason, Reason::superseded);
  EXPECT_EQ(job(id).stage, "");
  EXPECT_EQ(record(id).returned->from, "review");
}

TEST_F(ItemActsTest, P2_AHandlerSendsItsItemBackUnderItsFenceAndWhatItReturnsThenIsIgnored) {
  const JobId id = enqueue();
  work("ready");
  const Job held = claim("review").at(0);
  road.replies_lost = 1;
  must(acts.send_back({id, held.fence}, "ready", {.actor = "worker", .reason = "no tests"}));
  EXPECT_EQ(job(id).stage, "");
  EXPECT_EQ(job(id).state, JobState::ready);
  EXPECT_EQ(record(id).returns, 1);
  EXPECT_TRUE(settle(held).refused.empty()) << "its word was taken already";
  EXPECT_EQ(job(id).stage, "");
  settle(claim("ready").at(0));
  const Job other = claim("review").at(0);
  EXPECT_EQ(code_of(acts.send_back({id, held.fence}, "ready", ana)), Code::lost) << "another has it by now";
  EXPECT_EQ(job(id).fence, other.fence);
  EXPECT_EQ(job(id).stage, "review");
}

TEST_F(ItemActsTest, WhatIsFinishedOrNoItemIsRefusedWithWords) {
  const JobId id = enqueue();
  must(memory.cancel({.ns = "default", .ids = {id}, .request = "c", .only = {}, .act = ana}));
  const Result<ItemReport> finished = acts.hold(id, ana);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, Code::conflict);
  EXPECT_NE(finished.error().message.find("job retry"), std::string::npos);
  EXPECT_EQ(code_of(acts.hold(enqueue("mail"), ana)), Code::conflict);
  EXPECT_EQ(code_of(acts.hold(JobId{}, ana)), Code::not_found);
  const Result<ItemReport> nowhere = acts.move(enqueue(), "reveiw", ana);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("did you mean 'review'?"), std::string::npos);
}

TEST_F(ItemActsTest, AHoldOfWhatWaitsForAnEffectIsInForceWhenThatIsResolved) {
  const JobId id = enqueue();
  const Job held = claim("ready").at(0);
  must(memory.begin_effect({.ns = "default",
                            .job = id,
                            .fence = held.fence,
                            .name = "pay",
                            .digest = "d",
                            .call = "c",
                            .actor = "here",
                            .dead_call = {}}));
  must(memory.finish_effect({.ns = "default",
                             .job = id,
                             .fence = held.fence,
                             .name = "pay",
                             .call = "c",
                             .end = EffectEnd::held,
                             .result = {},
                             .exit_status = {}}));
  must(memory.stopped({.ns = "default", .owner = "w", .jobs = {{id, held.fence}}}));
  must(acts.hold(id, ana));
  EXPECT_EQ(code_of(acts.move(id, "review", ana)), Code::conflict) << "first say what became of the effect";
  must(memory.resolve_effect({.ns = "default", .job = id, .name = "pay", .done = true, .result = {}, .act = ana}));
  EXPECT_EQ(job(id).state, JobState::ready);
  EXPECT_TRUE(claim("ready").empty());
  EXPECT_EQ(job(id).state, JobState::waiting);
}

using PipelineActsTest = ItemActsTest;

TEST_F(PipelineActsTest, TheSameAgainChangesNothing) {
  EXPECT_EQ(apply(docs_pipeline()).outcome, ApplyOutcome::same);
  PipelineSpec spec = docs_pipeline();
  spec.loops = 9;
  EXPECT_EQ(apply(spec).outcome, ApplyOutcome::changed);
  EXPECT_EQ(apply(spec).outcome, ApplyOutcome::same);
}

TEST_F(PipelineActsTest, AStageWithItemsIsNotTakenAwayUnlessThatIsForced) {
  const JobId id = enqueue();
  work("ready");
  PipelineSpec without = docs_pipeline();
  without.stages.erase(without.stages.begin() + 1);
  const Result<ApplyReport> refused = pipelines.apply(without, false, ana);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().message.find("1 at review (" + to_string(id)), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(apply(without, true).stranded, (std::map<std::string, std::int64_t>{{"review", 1}}));
  EXPECT_EQ(code_of(acts.release(id, ana)), std::nullopt);
  must(acts.move(id, "publish", ana));
  EXPECT_EQ(job(id).stage, "gate:publish") << "a person takes it on";
}

TEST_F(PipelineActsTest, WorkOnAnItemWhoseStageWasTakenAwayIsKeptForAPerson) {
  const JobId id = enqueue();
  work("ready");
  const Job held = claim("review").at(0);
  PipelineSpec without = docs_pipeline();
  without.stages.erase(without.stages.begin() + 1);
  apply(without, true);
  EXPECT_TRUE(settle(held).refused.empty());
  EXPECT_EQ(job(id).state, JobState::waiting) << "not done: it has not passed the others";
  must(acts.move(id, "publish", ana));
  EXPECT_FALSE(record(id).hold) << "that was no person's hold";
}

TEST_F(PipelineActsTest, AnotherFirstStageIsRefusedWhileItemsAreAtTheOldOne) {
  enqueue();
  PipelineSpec before = docs_pipeline();
  before.stages.insert(before.stages.begin(), StageSpec{.name = "triage"});
  EXPECT_EQ(code_of(pipelines.apply(before, false, ana)), Code::conflict);
  work("ready");
  EXPECT_EQ(code_of(pipelines.apply(before, false, ana)), std::nullopt) << "review is review";
}

TEST_F(PipelineActsTest, AnEntryThatIsTakenAwayLetsInWhatWaitsThere) {
  const JobId id = at_publish_entry();
  PipelineSpec open = docs_pipeline();
  open.stages[2].entry = {};
  EXPECT_EQ(apply(open).refitted, 1);
  EXPECT_EQ(job(id).stage, "publish");
  EXPECT_EQ(job(id).state, JobState::ready);
}

TEST_F(PipelineActsTest, RemovedWithUnfinishedItemsOnlyByForce) {
  enqueue();
  EXPECT_EQ(code_of(pipelines.remove("docs", false, ana)), Code::conflict);
  EXPECT_EQ(code_of(pipelines.remove("doc", false, ana)), Code::not_found);
  must(pipelines.remove("docs", true, ana));
  EXPECT_TRUE(must(memory.pipelines("default")).empty());
}

TEST_F(ItemActsTest, J3_TwoWhoRejectAtOnceSendItBackOnce) {
  const JobId id = at_publish_entry();
  road.before_change = [&] { must(acts.reject(id, "", {.actor = "bo", .reason = "no"})); };
  EXPECT_EQ(code_of(acts.reject(id, "", ana)), Code::conflict) << "it is not where she saw it";
  EXPECT_EQ(job(id).stage, "review");
  EXPECT_EQ(record(id).returns, 1);
}

TEST_F(ItemActsTest, P1_ARejectionThatCameAfterTheApprovalRevokesNothing) {
  const JobId id = at_publish_entry();
  std::vector<Job> running;
  road.before_change = [&] {
    must(acts.approve(id, {}, ana));
    running = claim("publish");
  };
  EXPECT_EQ(code_of(acts.reject(id, "", {.actor = "bo", .reason = "no"})), Code::conflict);
  EXPECT_EQ(job(id).fence, running.at(0).fence);
  EXPECT_EQ(job(id).state, JobState::running);
}

TEST_F(ItemActsTest, J3_TwoWhoMoveAtOnceMoveItOnce) {
  const JobId id = at_publish_entry();
  road.before_change = [&] { must(acts.move(id, "ready", {.actor = "bo", .reason = "anew"})); };
  EXPECT_FALSE(must(acts.move(id, "ready", ana)).changed) << "it is where she wants it";
  EXPECT_EQ(record(id).returns, 1);
  road.before_change = [&] { work("ready"); };
  EXPECT_EQ(code_of(acts.move(id, "review", ana)), std::nullopt) << "there already";
  road.before_change = [&] { work("review"); };
  EXPECT_EQ(code_of(acts.move(id, "ready", ana)), Code::conflict);
  EXPECT_EQ(job(id).stage, "gate:publish");
}

TEST_F(PipelineActsTest, J8_ACheckThatRunsWhenItsEntryIsTakenAwayKeepsNobodyWaiting) {
  const JobId id = at_publish_entry();
  must(acts.approve(id, {}, ana));
  work("publish");
  const Job held = claim("gate:announce").at(0);
  PipelineSpec spec = docs_pipeline();
  spec.stages[1].attempts = 7;
  EXPECT_EQ(apply(spec).refitted, 0);
  EXPECT_EQ(job(id).fence, held.fence) << "its entry is as it was";
  spec.stages[3].entry = {};
  EXPECT_EQ(apply(spec).refitted, 1);
  EXPECT_EQ(job(id).stage, "announce");
  EXPECT_EQ(job(id).state, JobState::ready);
  EXPECT_EQ(settle(held).refused.at(0).reason, Reason::superseded);
}

TEST_F(PipelineActsTest, J8_ALookThatIsGivenBackAtAnEntryThatIsNoMoreLetsItsItemIn) {
  const JobId id = at_publish_entry();
  must(acts.approve(id, {}, ana));
  work("publish");
  const Job held = claim("gate:announce").at(0);
  PipelineSpec spec = docs_pipeline();
  spec.stages[3].entry = {};
  must(memory.put_pipeline({.ns = "default",
                            .name = "docs",
                            .spec = pipeline_text(spec),
                            .revision = 1,
                            .act = ana}));  // whoever applied it died before looking at the items
  settle(held, {.kind = OutcomeKind::given_back});
  EXPECT_EQ(job(id).stage, "announce");
}

}  // namespace
}  // namespace fenceline::test
