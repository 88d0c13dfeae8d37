// One worker over a tracker that does what a test wants, under virtual time.
#include "tracker/tracker_worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/runtime/machine.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/tracker/tracker_clock.hpp"
#include "sim/tracker/tracker_model.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;
using namespace tracker;
using tracker::Item;  // and not an item of a pipeline

const Account kAna{"11", "ana"};
const Account kRobots{"99", "robots"};

// Works for as long as a test says, unless it is told to stop.
class Hands final : public Handler {
 public:
  explicit Hands(SimRuntime& process) : process_(process) {}
  RunResult run(const Run& run) override {
    ++runs;
    stages.push_back(run.job.stage);
    items.push_back(run.job.key);
    payloads.push_back(run.job.payload);
    trust = run.trust;
    process_.sleep_for(takes, run.stop);
    stopped += run.stop.stop_requested() ? 1 : 0;
    const bool told = run.stop.stop_requested() && !insists;
    return {.kind = told ? OutcomeKind::given_back : OutcomeKind::done, .result = output};
  }
  Duration takes = 10min;
  bool insists = false;  // it says done even if it was told to stop
  std::string output;
  std::vector<std::string> items, payloads;
  int runs = 0, stopped = 0;
  std::vector<std::string> stages;
  const TrustDeadline* trust = nullptr;  // of the last run

 private:
  SimRuntime& process_;
};

// The names of what is logged, with what says why.
class Heard final : public LogSink {
 public:
  void write(const LogEvent& event) override { lines.push_back(format_log_line(event, "")); }
  int count(std::string_view text) const {
    return static_cast<int>(
        std::ranges::count_if(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  std::vector<std::string> lines;
};

struct OneWorker {
  explicit OneWorker(TrackerFaults faults = {}, Capabilities can = {})
      : model(clock, simulation.random(), faults, can), door(model.door(kRobots, "w")) {
    options.protocol.pipeline.name = "docs";
    options.protocol.pipeline.stages = {
        {.name = "ready"},
        {.name = "review"},
        {.name = "publish", .gate = {.kind = GateKind::approval, .count = 1, .by = {"ana"}}}};
    options.protocol.signing = {"key", "model:team/backlog"};
    options.protocol.can = can;
    options.protocol.workers = {kRobots.id};
    options.protocol.people = {kAna.id};
    options.fitness = {.idempotent = true, .work = 10min};
  }
  ~OneWorker() { process.kill(); }

  void start() {
    for (const StageSpec& stage : options.protocol.pipeline.stages) options.work.push_back({stage.name, &hands, back});
    worker = std::make_unique<TrackerWorker>(process, Log(heard), *door, options);
    process.start([this](std::stop_token stop) { ended = worker->run(stop); });
  }
  void pass(Duration time) { simulation.run_until(simulation.now() + time); }
  ItemId make(const std::string& stage = "ready") {
    return options.protocol.can.labels ? model.make_item(kAna, "an item", {"stage:" + stage})
                                       : model.make_item(kAna, "an item", {}, stage);
  }
  std::unique_ptr<Tracker> ana() { return model.door(kAna, "ana"); }
  // As another worker of the same account would write it.
  CommentId mark(const ItemId& item, Marker marker) {
    const Ledger ledger = read_ledger(options.protocol, item, model.truth(item).comments, kRobots, model.now());
    marker.generation = ledger.generation;
    marker.stage = ledger.place;
    marker.worker = "other";
    marker.nonce = "nonce" + std::to_string(++marks);
    marker.ttl = 600;
    return model.door(kRobots, "other")->post(item, marker_text(marker, item, options.protocol.signing))->value.id;
  }
  const Comment* claim_on(const ItemId& item) const {
    for (const Comment& comment : model.truth(item).comments)
      if (comment.text.starts_with("<!-- fenceline/1 claim")) return &comment;
    return nullptr;
  }
  bool is_open(const ItemId& item) const { return model.truth(item).state->open; }
  std::string place(const ItemId& item) const {
    return read_ledger(options.protocol, item, model.truth(item).comments, kRobots, model.now()).place;
  }

  StackPool stacks;
  Simulation simulation{1, stacks};
  Machine machine{"m", Duration{0}, 0, 24h * 365 * 50};
  SimRuntime process{simulation, machine, "w"};
  TrackerClock clock{simulation};
  TrackerModel model;
  std::unique_ptr<Tracker> door;
  Heard heard;
  int marks = 0;
  Hands hands{process};
  std::function<std::optional<SentBack>(const Job&)> back;
  TrackerWorkerOptions options;
  std::unique_ptr<TrackerWorker> worker;
  std::optional<Result<void>> ended;
};

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
      one.options.protocol.pipeline.stages.back().gate = {};
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
}  // namespace fenceline::sim
