// One worker over a tracker that does what a test wants, under virtual time.
#include "tracker/tracker_worker.hpp"

#include <gtest/gtest.h>

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
    trust = run.trust;
    process_.sleep_for(takes, run.stop);
    stopped += run.stop.stop_requested() ? 1 : 0;
    return {.kind = run.stop.stop_requested() ? OutcomeKind::given_back : OutcomeKind::done};
  }
  Duration takes = 10min;
  int runs = 0, stopped = 0;
  std::vector<std::string> stages;
  const TrustDeadline* trust = nullptr;  // of the last run

 private:
  SimRuntime& process_;
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
    options.protocol.workers = {kRobots.id};
    options.protocol.people = {kAna.id};
    options.fitness = {.idempotent = true, .work = 10min};
  }
  ~OneWorker() { process.kill(); }

  void start() {
    for (const StageSpec& stage : options.protocol.pipeline.stages) options.work.push_back({stage.name, &hands, back});
    worker = std::make_unique<TrackerWorker>(process, Log(null_log_sink()), *door, options);
    process.start([this](std::stop_token stop) { ended = worker->run(stop); });
  }
  void pass(Duration time) { simulation.run_until(simulation.now() + time); }
  ItemId make() { return model.make_item(kAna, "an item", {"stage:ready"}); }
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
