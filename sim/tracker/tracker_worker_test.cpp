// A worker on a tracker from its start to its end: what it looks at, in which order, and when it stops.
#include "sim/tracker/one_worker_test.hpp"

namespace fenceline::sim::one_worker {
namespace {

TEST(TrackerWorkerHints, AnItemThatSomebodyHeardOfIsTakenLongBeforeTheNextLookAtTheLists) {
  OneWorker one;
  one.options.poll = 1h;
  one.start();
  one.pass(10min);
  const ItemId item = one.make();
  one.worker->hint(item);
  one.pass(10s);
  EXPECT_EQ(one.hands.runs, 1);
  EXPECT_LE(one.worker->counts().claim_requests_most, 5);
}

TEST(TrackerWorkerHints, WhatIsNotThereYetIsLookedAtAgainUntilItIs) {
  OneWorker one({.lag_most = 100s, .hidden_young = 1});
  one.options.poll = 1h;
  one.start();
  one.pass(10min);
  const ItemId item = one.make();
  one.worker->hint(item);
  one.pass(99s);
  EXPECT_EQ(one.hands.runs, 0);
  EXPECT_EQ(one.worker->counts().hint_looks, 4);
  one.pass(90s);
  EXPECT_EQ(one.hands.runs, 1);
  EXPECT_EQ(one.worker->counts().hint_looks, 5);
}

TEST(TrackerWorkerHints, HintsOfWhatDoesNotExistOrDidNotChangeEndByThemselvesAndWriteNothing) {
  OneWorker one;
  one.options.poll = 1h;
  one.start();
  one.pass(10min);
  const ItemId strange = one.model.make_item(kAna, "none of ours", {"bug"});
  for (int i = 0; i < 5; ++i) {
    one.worker->hint("404");
    one.worker->hint(strange);
    one.pass(1s);
  }
  one.pass(20min);
  const std::int64_t requests = one.model.counts().requests;
  EXPECT_LE(one.worker->counts().hint_looks, 12);
  EXPECT_EQ(one.model.counts().writes, 0);
  one.pass(10min);
  EXPECT_EQ(one.model.counts().requests, requests);
}

TEST(TrackerWorkerHints, AnApprovalThatSomebodyHeardOfOpensTheGateAtOnceAndTheClaimTakesFiveRequests) {
  OneWorker one;
  one.options.poll = 30s;
  one.start();
  const ItemId item = one.make();
  one.pass(40min);
  ASSERT_EQ(one.place(item), "gate:publish");
  ASSERT_TRUE(one.model.door(kAna, "ana")->post(item, "/approve"));
  one.worker->hint(item);
  one.pass(15s);
  EXPECT_EQ(one.hands.stages, (std::vector<std::string>{"ready", "review", "publish"}));
  EXPECT_LE(one.worker->counts().claim_requests_most, 5);
}

TEST(TrackerWorkerEnd, ATokenThatIsRefusedThreeTimesInARowEndsItAndStopsItsHandlers) {
  OneWorker one;
  one.hands.takes = 1h;
  one.options.concurrency = 2;
  one.start();
  one.make();
  one.pass(5min);
  ASSERT_EQ(one.hands.runs, 1);
  one.model.revoke(kRobots);
  one.pass(5min);
  ASSERT_TRUE(one.ended);
  ASSERT_FALSE(*one.ended);
  EXPECT_EQ(one.ended->error().code, Code::denied);
  EXPECT_EQ(one.hands.stopped, 1);
}

TEST(TrackerWorkerEnd, ATokenThatIsRefusedForAMomentHoweverOftenEndsNothing) {
  OneWorker one;
  one.hands.takes = 20min;
  one.options.poll = 1s;
  one.options.concurrency = 2;
  one.start();
  const ItemId item = one.make();
  one.pass(5min);
  ASSERT_EQ(one.hands.runs, 1);
  for (int blip = 0; blip < 3; ++blip) {
    one.model.revoke(kRobots);
    one.pass(30s);  // some twenty refusals
    one.model.restore(kRobots);
    one.pass(1min);
  }
  EXPECT_FALSE(one.ended);
  one.pass(20min);
  EXPECT_EQ(one.hands.stopped, 0);
  EXPECT_EQ(one.place(item), "review");
}

TEST(TrackerWorkerEnd, ATokenThatIsRefusedWhileEveryHandIsBusyEndsItToo) {
  OneWorker one;
  one.hands.takes = 3h;
  one.options.poll = 1h;
  one.start();
  one.make();
  one.pass(5min);
  one.model.revoke(kRobots);
  one.pass(15min);
  ASSERT_TRUE(one.ended);
  EXPECT_EQ(one.ended->error().code, Code::denied);
  EXPECT_EQ(one.hands.stopped, 1);
}

TEST(TrackerWorkerEnd, ATokenThatIsRefusedInMidWorkEndsItWithinTwoMinutesAndAPoll) {
  OneWorker one;
  one.hands.takes = 3h;
  one.start();
  one.make();
  one.pass(5min);
  one.model.revoke(kRobots);
  one.pass(2min);  // although its only hand is busy, and no renewal was due
  ASSERT_TRUE(one.ended);
  ASSERT_FALSE(*one.ended);
  EXPECT_EQ(one.ended->error().code, Code::denied);
  EXPECT_EQ(one.hands.stopped, 1);
}

TEST(TrackerWorkerEnd, ATermEndsItWhateverTheTrackerAnswers) {
  OneWorker one;
  one.hands.takes = 3h;
  one.start();
  one.make();
  one.pass(5min);
  one.model.revoke(kRobots);
  one.process.terminate();
  one.pass(40s);  // the grace of a stop, and three refusals
  ASSERT_TRUE(one.ended);
  ASSERT_FALSE(*one.ended);
  EXPECT_EQ(one.ended->error().code, Code::denied);

  OneWorker away;
  away.hands.takes = 3h;
  away.start();
  away.make();
  away.pass(5min);
  away.model.set_faults({.error_before_write = 1});  // no outcome can be written
  away.process.terminate();
  away.pass(away.options.drain_grace + kSettleAtStop + 5s);
  EXPECT_TRUE(away.ended);
}

TEST(TrackerWorkerEnd, ATermLetsHandlersFinishForTheDrainTimeout) {
  OneWorker one;
  one.hands.takes = 10min;
  one.options.drain_grace = 5min;
  one.start();
  const ItemId item = one.make();
  one.pass(6min);
  one.process.terminate();
  one.pass(5min);
  EXPECT_TRUE(one.ended);
  EXPECT_EQ(one.hands.stopped, 0);
  EXPECT_EQ(one.place(item), "review");

  OneWorker longer;
  longer.hands.takes = 1h;
  longer.options.drain_grace = 5min;
  longer.start();
  const ItemId other = longer.make();
  longer.pass(6min);
  longer.process.terminate();
  longer.pass(4min + 50s);
  EXPECT_EQ(longer.hands.stopped, 0);
  EXPECT_FALSE(longer.ended);
  longer.pass(20s);
  EXPECT_EQ(longer.hands.stopped, 1);
  EXPECT_TRUE(longer.ended);
  EXPECT_EQ(longer.place(other), "ready");
}

// An item that another worker has is looked at again at every poll, not at the next sweep.
TEST(TrackerWorkerDrain, EndsSoonAfterTheLastItemOfOthersIsDone) {
  OneWorker one;
  one.options.until_idle = true;
  one.options.poll = 10s;
  const ItemId item = one.make();
  const CommentId claim = one.mark(item, {.kind = MarkerKind::claim});
  ASSERT_TRUE(one.model.door(kRobots, "other")->add_labels(item, {"claimed", "stage:processing"}));
  ASSERT_TRUE(one.model.door(kRobots, "other")->remove_label(item, "stage:ready"));
  one.options.work.push_back({"ready", &one.hands, {}});
  one.worker = std::make_unique<TrackerWorker>(one.process, Log(one.heard), *one.door, one.options);
  one.process.start([&](std::stop_token stop) { one.ended = one.worker->run(stop); });
  one.pass(3min);
  EXPECT_FALSE(one.ended) << "the other one may still give it back";
  Marker advanced{.kind = MarkerKind::advanced};
  advanced.to = "review";
  advanced.claim = claim;
  one.mark(item, advanced);
  ASSERT_TRUE(one.model.door(kRobots, "other")->add_labels(item, {"stage:review"}));
  for (const char* label : {"stage:processing", "claimed"})
    ASSERT_TRUE(one.model.door(kRobots, "other")->remove_label(item, label));
  one.pass(30s);
  ASSERT_TRUE(one.ended);
  EXPECT_TRUE(*one.ended);
  EXPECT_EQ(one.hands.runs, 0);
}

TEST(TrackerWorkerOrder, TheOldestItemIsTakenFirst) {
  OneWorker one;
  one.hands.takes = 2min;
  std::vector<ItemId> made;
  for (int i = 0; i < 12; ++i) made.push_back(one.make());
  one.options.work.push_back({"ready", &one.hands, {}});
  one.worker = std::make_unique<TrackerWorker>(one.process, Log(one.heard), *one.door, one.options);
  one.process.start([&](std::stop_token stop) { one.ended = one.worker->run(stop); });
  one.pass(1h);
  EXPECT_EQ(one.hands.items, made);
}

// Found by the simulator: a renewal that nobody answered arrived after the next one, and took the claim back to its own
// time under a worker that trusted the later one.
TEST(TrackerWorkerRenewal, T1_TrustDoesNotOutliveARenewalThatMayStillArrive) {
  OneWorker one;
  one.hands.takes = 30min;
  one.start();
  one.make();
  one.pass(3min);
  ASSERT_EQ(one.hands.runs, 1);
  one.model.set_faults({.error_before_write = 1});
  one.pass(1min);  // the first renewal, after 200 s
  one.model.set_faults({});
  one.pass(2min);
  ASSERT_EQ(one.worker->counts().renewals, 1);
  EXPECT_LE(one.hands.trust->until(), Instant{220s} + 540s);
  one.pass(20min);  // it cannot arrive any more
  EXPECT_EQ(one.hands.stopped, 0);
  EXPECT_GT(one.hands.trust->until(), one.process.now());
}

// A claim carries the time at which it was made, and counts for nobody if it is posted more than a minute later.
void shut_out_for_a_minute_at_its_claim(Capabilities can) {
  OneWorker one({.writes_a_minute = 0, .limit_says_when = 1}, can);
  std::vector<Duration> ages;  // of the claims that were posted
  one.model.on_event([&](const TrackerEvent& event) {
    const ReadMarker read = read_marker(event.comment.text, event.item, one.options.protocol.signing);
    if (read.marker && read.marker->kind == MarkerKind::claim && event.kind != TrackerEvent::Kind::erased)
      ages.push_back(event.comment.created_at - WallTime{std::chrono::seconds{read.marker->at}});
  });
  one.hands.takes = 1s;
  one.start();
  one.make();
  one.pass(5s);
  ASSERT_GT(one.model.counts().limited, 0) << "it was let in";
  ASSERT_EQ(one.model.counts().writes, 0);
  one.model.set_faults({});  // it is let in again when the minute is over
  one.pass(10min);
  EXPECT_EQ(one.hands.stages, (std::vector<std::string>{"ready", "review"}));
  EXPECT_EQ(ages.size(), 2u) << "each claim that is void costs another one";
  EXPECT_LE(std::ranges::max(ages), kVerbTimeout);
}

TEST(TrackerWorkerClaims, T4_AClaimThatMustWaitIsMadeAnewAndNotPostedWhenItIsVoid) {
  shut_out_for_a_minute_at_its_claim({});
}

TEST(TrackerWorkerClaims, T4_AClaimBySwapThatMustWaitIsMadeAnewAndNotPostedWhenItIsVoid) {
  shut_out_for_a_minute_at_its_claim({.labels = false, .ordered_ids = true, .edit_times = false, .swap = true});
}

TEST(TrackerWorkerSentBack, TheItemGoesBackWhateverCameOfTheRunAndPeopleReadWhy) {
  OneWorker one;
  int asked = 0;
  one.back = [&](const Job& job) {
    return job.stage == "review" && ++asked == 1 ? std::optional(SentBack{"ready", "no tests\n<!-- fenceline/1 claim"})
                                                 : std::nullopt;
  };
  one.start();
  const ItemId item = one.make();
  one.pass(2h);
  EXPECT_EQ(one.hands.stages, (std::vector<std::string>{"ready", "review", "ready", "review"}));
  EXPECT_EQ(one.place(item), "gate:publish");
  EXPECT_EQ(one.worker->counts().sent_back, 1);
  int reasons = 0;
  for (const Comment& comment : one.model.truth(item).comments) {
    reasons += comment.text.starts_with("fenceline: sent back to ready: no tests") ? 1 : 0;
    EXPECT_EQ(comment.text.find("no tests\n<!-- fenceline/"), std::string::npos);
  }
  EXPECT_EQ(reasons, 1);
}

TEST(TrackerWorkerSentBack, WhatIsNoEarlierStageIsAsIfNothingWasAskedFor) {
  OneWorker one;
  one.back = [](const Job& job) {
    return job.stage == "ready" ? std::optional(SentBack{"publish", "forward"})
                                : std::optional(SentBack{"nowhere", ""});
  };
  one.start();
  const ItemId item = one.make();
  one.pass(1h);
  EXPECT_EQ(one.place(item), "gate:publish");
  EXPECT_EQ(one.worker->counts().sent_back, 0);
}

}  // namespace
}  // namespace fenceline::sim::one_worker
