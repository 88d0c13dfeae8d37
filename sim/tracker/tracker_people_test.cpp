// What people do while a worker has their item, and what stages hand on.
#include "sim/tracker/one_worker_test.hpp"

namespace fenceline::sim::one_worker {
namespace {

constexpr Capabilities kBySwap{.labels = false, .ordered_ids = true, .edit_times = false, .swap = true};

TEST(TrackerWorkerPeople, AnItemThatAPersonClosesInMidWorkStaysClosedAndItsHandlerIsStopped) {
  for (const Capabilities& can : {Capabilities{}, kBySwap}) {
    OneWorker one({}, can);
    one.hands.takes = 1h;
    one.hands.insists = true;
    one.start();
    const ItemId item = one.make();
    one.pass(5min);
    ASSERT_EQ(one.hands.runs, 1);
    ASSERT_TRUE(one.ana()->set_open(item, false));
    one.pass(1min);
    EXPECT_EQ(one.hands.stopped, 1);
    one.pass(2h);
    EXPECT_FALSE(one.is_open(item));
    EXPECT_EQ(one.place(item), "ready");
    EXPECT_EQ(one.hands.runs, 1);
    EXPECT_EQ(one.claim_on(item), nullptr);
    EXPECT_EQ(one.heard.count("tracker_settled"), 0) << "it must not be called done";
    EXPECT_EQ(one.heard.count(R"("reason":"closed")"), 2);
    EXPECT_EQ(one.worker->counts().stopped_by_people, 1);
    if (can.labels) {
      EXPECT_EQ(one.model.truth(item).state->labels, std::vector<std::string>{"stage:ready"});
      ASSERT_TRUE(one.ana()->set_open(item, true));  // then it goes on
    } else {
      ASSERT_TRUE(one.ana()->set_status(item, "ready"));
    }
    one.pass(2min);
    EXPECT_EQ(one.hands.runs, 2);
  }
}

TEST(TrackerWorkerPeople, AnItemThatIsClosedJustBeforeItsOutcomeIsWrittenStaysClosed) {
  for (const Capabilities& can : {Capabilities{}, kBySwap}) {
    OneWorker one({}, can);
    one.options.poll = 1h;
    one.hands.takes = 10min;
    one.start();
    const ItemId item = one.make();
    one.worker->hint(item);
    one.pass(5min);
    ASSERT_EQ(one.hands.runs, 1);
    ASSERT_TRUE(one.ana()->set_open(item, false));
    one.pass(10min);
    EXPECT_EQ(one.hands.stopped, can.edit_times ? 0 : 1) << "a renewal reads where edits have no time";
    EXPECT_FALSE(one.is_open(item));
    EXPECT_EQ(one.place(item), "ready");
    EXPECT_EQ(one.heard.count("tracker_settled"), 0);
  }
}

TEST(TrackerWorkerPeople, ADeletedClaimStopsTheHandlerAndNothingIsCalledDone) {
  for (const Capabilities& can : {Capabilities{}, kBySwap}) {
    OneWorker one({}, can);
    one.hands.takes = 1h;
    one.hands.insists = true;
    one.start();
    const ItemId item = one.make();
    one.pass(5min);
    ASSERT_NE(one.claim_on(item), nullptr);
    one.model.erase_anyones(kAna, item, CommentId(one.claim_on(item)->id));
    one.pass(1min);
    EXPECT_EQ(one.hands.stopped, 1);
    EXPECT_EQ(one.heard.count("tracker_settled"), 0);
    EXPECT_GE(one.heard.count(R"("reason":"claim_deleted")"), 1);
    EXPECT_EQ(one.place(item), "ready");
  }
}

TEST(TrackerWorkerPeople, AMoveByHandStopsTheHandlerAndIsObeyed) {
  for (const Capabilities& can : {Capabilities{}, kBySwap}) {
    for (const bool by_comment : {false, true}) {
      OneWorker one({}, can);
      one.hands.takes = 1h;
      one.hands.insists = true;
      one.options.protocol.pipeline.stages.back().entry = {};
      one.start();
      const ItemId item = one.make();
      one.pass(5min);
      ASSERT_EQ(one.hands.runs, 1);
      if (by_comment) {
        ASSERT_TRUE(one.ana()->post(item, "/move review"));
      } else if (can.labels) {
        ASSERT_TRUE(one.ana()->add_labels(item, {"stage:review"}));
        ASSERT_TRUE(one.ana()->remove_label(item, "stage:processing"));
      } else {
        ASSERT_TRUE(one.ana()->set_status(item, "review"));
      }
      one.pass(2min);
      EXPECT_EQ(one.hands.stopped, 1) << by_comment;
      EXPECT_EQ(one.hands.stages, (std::vector<std::string>{"ready", "review"}));
      EXPECT_EQ(one.heard.count("tracker_settled"), 0);
    }
  }
}

TEST(TrackerWorkerPeople, AnItemThatIsTakenOutOfThePipelineIsLeftAlone) {
  OneWorker one;
  one.hands.takes = 1h;
  one.start();
  const ItemId item = one.make();
  one.pass(5min);
  for (const char* label : {"stage:processing", "claimed"}) ASSERT_TRUE(one.ana()->remove_label(item, label));
  one.pass(1h);
  EXPECT_EQ(one.hands.stopped, 1);
  EXPECT_TRUE(one.model.truth(item).state->labels.empty());
  EXPECT_EQ(one.hands.runs, 1);
}

TEST(TrackerWorkerPeople, WhatOutsidersMoveStopsNothing) {
  OneWorker one;
  one.hands.takes = 10min;
  one.start();
  const ItemId item = one.make();
  one.pass(5min);
  ASSERT_TRUE(one.model.door({"66", "eve"}, "eve")->add_labels(item, {"stage:review"}));
  ASSERT_TRUE(one.model.door({"66", "eve"}, "eve")->post(item, "/move publish"));
  one.pass(4min);
  EXPECT_EQ(one.hands.stopped, 0);
  one.pass(5min);
  EXPECT_EQ(one.place(item), "review");
}

TEST(TrackerWorkerHandsOn, AStageWithInputPreviousGetsTheOutputOfTheStageBefore) {
  for (const Capabilities& can : {Capabilities{}, kBySwap}) {
    OneWorker one({}, can);
    one.options.protocol.pipeline.stages[1].input = StageInput::previous;
    one.hands.output = "a ``` draft of fenceline/1 and fenceline&#47;\n\n@ana";
    one.start();
    const ItemId item = one.make();
    one.pass(30min);
    ASSERT_EQ(one.hands.stages, (std::vector<std::string>{"ready", "review"}));
    EXPECT_TRUE(one.hands.payloads[0].starts_with("{\"item\""));
    EXPECT_EQ(one.hands.payloads[1], one.hands.output);
    EXPECT_EQ(one.place(item), "gate:publish");
    EXPECT_EQ(one.heard.count("tracker_outcome_unwritten"), 0);
  }
}

TEST(TrackerWorkerHandsOn, AnOutputThatSomebodyChangedIsLeftToPeople) {
  OneWorker one;
  one.options.protocol.pipeline.stages[1].input = StageInput::previous;
  one.hands.output = "pay 10";
  one.options.work.push_back({"ready", &one.hands, {}});
  one.worker = std::make_unique<TrackerWorker>(one.process, Log(one.heard), *one.door, one.options);
  one.process.start([&](std::stop_token stop) { one.ended = one.worker->run(stop); });
  const ItemId item = one.make();
  one.pass(15min);
  ASSERT_EQ(one.place(item), "review");
  one.process.kill();
  const std::vector<Comment> comments = one.model.truth(item).comments;
  const auto note = std::ranges::find_if(
      comments, [](const Comment& comment) { return comment.text.find("pay 10") != std::string::npos; });
  ASSERT_NE(note, comments.end());
  std::string text = note->text;
  one.model.edit_anyones({"66", "eve"}, item, note->id, text.replace(text.find("pay 10"), 6, "pay 99"));
  const Item now = one.model.truth(item);
  const Ledger ledger = read_ledger(one.options.protocol, item, now.comments, kRobots, one.model.now() + 1h);
  const Step step = next_step(one.options.protocol, now, ledger, {kRobots, {"review"}, false}, one.model.now() + 1h);
  EXPECT_EQ(step.kind, StepKind::record);
  EXPECT_EQ(step.marker.kind, MarkerKind::contested);
  EXPECT_EQ(step.marker.why, kOutputMissing);
}

TEST(TrackerWorkerHandsOn, AnOutputThatIsTooLargeEndsInTheDeadLetters) {
  OneWorker one;
  one.options.protocol.pipeline.stages[1].input = StageInput::previous;
  one.hands.output = std::string(kHandedOnBytesMax + 1, 'x');
  one.start();
  const ItemId item = one.make();
  one.pass(15min);
  EXPECT_EQ(one.place(item), kDead);
  EXPECT_EQ(one.heard.count("tracker_output_refused"), 1);
  EXPECT_EQ(one.heard.count(R"("outcome":"dead")"), 1);
}

TEST(TrackerWorkerCopies, T2_AClaimThatWasCopiedByTheWorkersAccountBlocksNothing) {
  OneWorker one;
  const ItemId first = one.make();
  one.options.work.push_back({"ready", &one.hands, {}});
  one.worker = std::make_unique<TrackerWorker>(one.process, Log(one.heard), *one.door, one.options);
  one.process.start([&](std::stop_token stop) { one.ended = one.worker->run(stop); });
  one.pass(2min);
  ASSERT_NE(one.claim_on(first), nullptr);
  const std::string text = one.claim_on(first)->text;
  const ItemId second = one.make();
  auto echo = one.model.door(kRobots, "echo");
  for (const ItemId& item : {first, second}) ASSERT_TRUE(echo->post(item, text));
  one.pass(1h);
  EXPECT_EQ(one.place(first), "review");
  EXPECT_EQ(one.place(second), "review");
  EXPECT_EQ(one.hands.runs, 2);
  EXPECT_EQ(one.heard.count("tracker_copy_ignored"), 2);
}

TEST(TrackerWorkerLabels, TheLabelsOfAClaimHaveTheNamesOfThePipelinesFile) {
  OneWorker one;
  one.options.protocol.claimed = "taken";
  one.options.protocol.in_progress = "in progress";
  one.options.name = "ana-laptop";
  one.start();
  const ItemId item = one.make();
  one.pass(5min);
  EXPECT_EQ(one.model.truth(item).state->labels, (std::vector<std::string>{"in progress", "taken"}));
  EXPECT_NE(one.claim_on(item)->text.find("ana-laptop ("), std::string::npos);
  one.pass(30min);
  EXPECT_EQ(one.place(item), "gate:publish");
  EXPECT_EQ(one.model.truth(item).state->labels, std::vector<std::string>{"stage:gate:publish"});
}

}  // namespace
}  // namespace fenceline::sim::one_worker
