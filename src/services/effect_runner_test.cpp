#include "services/effect_runner.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>

#include "support/manual_clock.hpp"
#include "support/worker_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using namespace test;
using Kind = EffectAnswer::Kind;

constexpr const char* kHere = "this process";

// A runner in real time on a memory store whose clock the test moves.
class EffectsOnMemory : public testing::Test {
 protected:
  ManualClock clock;
  ThreadRuntime runtime;
  TroubledStore store{clock};
  EventList events;
  Instant trusted = runtime.now() + 1h;
  std::stop_source stop;
  ActorLife other_lives = ActorLife::unknown;
  EffectRunner runner{runtime,
                      Log(events),
                      store,
                      {.owner = "me",
                       .actor = kHere,
                       .wait_for_actor = [this](const std::string&, Instant, std::stop_token) { return other_lives; }}};
  std::atomic<int> acted = 0;
  std::vector<EffectCall> calls;
  JobId id;
  Fence fence = 0;

  void SetUp() override {
    id = make_uuid7(clock.wall_now(), 1, 2);
    must(store.enqueue({.ns = "default", .jobs = {{.id = id, .queue = "mail"}}}));
    claim();
  }
  // The lease before has ended.
  void claim() {
    clock.advance(1min);
    static int requests = 0;
    const ClaimReply reply = must(store.claim({.ns = "default",
                                               .queues = {"mail"},
                                               .owner = "me",
                                               .request = "claim-" + std::to_string(++requests),
                                               .limit = 1,
                                               .ttl = 30s}));
    ASSERT_EQ(reply.jobs.size(), 1U);
    fence = reply.jobs.front().job.fence;
  }
  // Somebody began under this fence, and was not heard of again.
  void begin_elsewhere(const std::string& actor = "elsewhere") {
    const BeginEffectReply reply = must(store.begin_effect({.ns = "default",
                                                            .job = id,
                                                            .fence = fence,
                                                            .name = "charge",
                                                            .digest = "d",
                                                            .call = "first",
                                                            .actor = actor}));
    ASSERT_EQ(reply.verdict, EffectVerdict::act);
  }
  EffectAct says(EffectReport report) {
    return [this, report](const EffectCall& call) {
      calls.push_back(call);
      ++acted;
      return report;
    };
  }
  Result<EffectAnswer> ask(EffectAct act, EffectOptions options = {}, std::string digest = "d") {
    return runner.run({.job = id,
                       .fence = fence,
                       .name = "charge",
                       .digest = std::move(digest),
                       .act = std::move(act),
                       .options = std::move(options),
                       .trusted_until = [this] { return trusted; },
                       .stop = stop.get_token()});
  }
  Effect effect() { return must(store.effects({.ns = "default", .job = id, .with_result = true})).effects.at(0); }
  Job job() { return must(store.job("default", id)).value(); }
};

TEST_F(EffectsOnMemory, E1_IsDoneOnceAndReplayedUnderTheNextFence) {
  const EffectAnswer first =
      must(ask(says({.kind = EffectReport::Kind::done, .result = std::string("a\0b\xff", 4), .exit_status = 0})));
  EXPECT_EQ(first.kind, Kind::done);
  EXPECT_FALSE(first.replayed);
  claim();
  const EffectAnswer second = must(ask(says(EffectReport::done("another"))));
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.result, std::string("a\0b\xff", 4));
  EXPECT_EQ(second.exit_status, 0);
  EXPECT_EQ(acted, 1);
  EXPECT_EQ(events.count("effect_replayed"), 1);
}

TEST_F(EffectsOnMemory, TheSameNameForAnotherRequestIsAConflict) {
  must(ask(says(EffectReport::done())));
  EXPECT_EQ(code_of(ask(says(EffectReport::done()), {}, "another")), Code::conflict);
  EXPECT_EQ(acted, 1);
}

TEST_F(EffectsOnMemory, ABeginWhoseAnswerGotLostIsRepeatedAndActsOnce) {
  store.after = [](const std::string& verb, int call) {
    return verb == "begin_effect" && call < 2 ? std::optional(Error{Code::in_doubt, "lost"}) : std::nullopt;
  };
  EXPECT_EQ(must(ask(says(EffectReport::done("x")))).result, "x");
  EXPECT_EQ(acted, 1);
  EXPECT_EQ(store.calls("begin_effect"), 3);
  EXPECT_EQ(effect().doubts, 0);
}

TEST_F(EffectsOnMemory, AnEndWhoseAnswerGotLostIsRepeatedUntilItIsRecorded) {
  store.after = [](const std::string& verb, int call) {
    return verb == "finish_effect" && call < 2 ? std::optional(Error{Code::in_doubt, "lost"}) : std::nullopt;
  };
  store.before = [](const std::string& verb, int call) {
    return verb == "finish_effect" && call == 2 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  EXPECT_EQ(must(ask(says(EffectReport::done("x")))).kind, Kind::done);
  EXPECT_EQ(effect().state, EffectState::done);
}

TEST_F(EffectsOnMemory, WithoutAStoreNothingIsDoneAndTheLeaseBoundsTheWait) {
  trusted = runtime.now() + 200ms;
  store.before = [](const std::string& verb, int) {
    return verb == "begin_effect" ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  EXPECT_EQ(code_of(ask(says(EffectReport::done()))), Code::unavailable);
  EXPECT_EQ(acted, 0);
}

TEST_F(EffectsOnMemory, WhatHappenedAndCouldNotBeRecordedIsInDoubt) {
  trusted = runtime.now() + 300ms;
  store.before = [](const std::string& verb, int) {
    return verb == "finish_effect" ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  EXPECT_EQ(code_of(ask(says(EffectReport::done()))), Code::in_doubt);
  EXPECT_EQ(events.count("effect_not_recorded"), 1);
}

TEST_F(EffectsOnMemory, E2_AnIntentOfAnEarlierDeliveryMakesTheJobWait) {
  begin_elsewhere();
  claim();
  const EffectAnswer answer = must(ask(says(EffectReport::done())));
  EXPECT_EQ(answer.kind, Kind::held);
  EXPECT_NE(answer.why.find("fenceline effects resolve " + to_string(id) + " charge --done"), std::string::npos)
      << answer.why;
  EXPECT_EQ(acted, 0);
  EXPECT_EQ(job().state, JobState::waiting);
  EXPECT_EQ(events.count("effect_held"), 1);
  EXPECT_EQ(code_of(as_result(answer)), Code::lost);
}

TEST_F(EffectsOnMemory, E2_UnderRepeatItIsDoneAgainUnderTheSameKey) {
  begin_elsewhere();
  claim();
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), {.in_doubt = InDoubt::repeat})).kind, Kind::done);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls[0].again);
  EXPECT_EQ(calls[0].key, to_string(id) + ".charge");
}

TEST_F(EffectsOnMemory, E2_UnderProbeTheOtherSideIsAskedFirst) {
  begin_elsewhere();
  claim();
  const EffectOptions happened{.in_doubt = InDoubt::probe,
                               .probe = [](const EffectCall&) { return EffectReport::done("found"); }};
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), happened)).result, "found");
  EXPECT_EQ(acted, 0);
  EXPECT_EQ(effect().result, "found");
}

TEST_F(EffectsOnMemory, E2_WhatAProbeDidNotFindIsDoneForTheFirstTime) {
  begin_elsewhere();
  claim();
  const EffectOptions did_not{.in_doubt = InDoubt::probe,
                              .probe = [](const EffectCall&) { return EffectReport::none(""); }};
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), did_not)).result, "x");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_FALSE(calls[0].again);
}

TEST_F(EffectsOnMemory, E2_AProbeThatDoesNotKnowMakesTheJobWait) {
  begin_elsewhere();
  claim();
  const EffectOptions unsure{.in_doubt = InDoubt::probe,
                             .probe = [](const EffectCall&) -> EffectReport { throw std::runtime_error("no answer"); }};
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), unsure)).kind, Kind::held);
  EXPECT_EQ(acted, 0);
  EXPECT_EQ(job().state, JobState::waiting);
}

TEST_F(EffectsOnMemory, AnActThatDoesNotKnowMakesTheJobWait) {
  EXPECT_EQ(must(ask([](const EffectCall&) -> EffectReport { throw std::runtime_error("timeout"); })).kind, Kind::held);
  EXPECT_EQ(job().state, JobState::waiting);
  EXPECT_TRUE(effect().held);
}

TEST_F(EffectsOnMemory, AnActThatDoesNotKnowIsRepeatedByTheNextCallOfTheSameDelivery) {
  const EffectOptions repeat{.in_doubt = InDoubt::repeat};
  EXPECT_EQ(must(ask(says(EffectReport::unknown("timeout")), repeat)).kind, Kind::in_doubt);
  EXPECT_EQ(effect().state, EffectState::intent);
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), repeat)).kind, Kind::done);
  EXPECT_FALSE(calls.at(0).again);
  EXPECT_TRUE(calls.at(1).again);
}

TEST_F(EffectsOnMemory, AnActThatDoesNotKnowIsProbedAtOnce) {
  const EffectOptions happened{.in_doubt = InDoubt::probe,
                               .probe = [](const EffectCall&) { return EffectReport::done("found"); }};
  EXPECT_EQ(must(ask(says(EffectReport::unknown("timeout")), happened)).result, "found");
  claim();
  EXPECT_TRUE(must(ask(says(EffectReport::done()), happened)).replayed);
}

TEST_F(EffectsOnMemory, WhatDidNotHappenCanBeTriedAgain) {
  const Result<EffectAnswer> none = ask(says(EffectReport::none("no connection")));
  EXPECT_EQ(must(none).kind, Kind::none);
  EXPECT_EQ(code_of(as_result(none)), Code::unavailable);
  EXPECT_EQ(effect().state, EffectState::none);
  EXPECT_EQ(must(ask(says(EffectReport::done("x")))).result, "x");
  EXPECT_FALSE(calls.at(1).again);
}

// The first one may have been booked; that the second found no connection says nothing about it.
TEST_F(EffectsOnMemory, E2_ARepeatThatDidNothingLeavesTheDoubt) {
  begin_elsewhere();
  claim();
  EXPECT_EQ(must(ask(says(EffectReport::none("no connection")), {.in_doubt = InDoubt::repeat})).kind, Kind::in_doubt);
  EXPECT_EQ(effect().state, EffectState::intent);
}

TEST_F(EffectsOnMemory, ASecondCallWaitsForTheFirstAndGetsItsResult) {
  const std::unique_ptr<Event> begun = runtime.make_event();
  const std::unique_ptr<Event> go_on = runtime.make_event();
  Task first = runtime.spawn("first", [&](std::stop_token) {
    must(ask([&](const EffectCall&) {
      ++acted;
      begun->notify();
      go_on->wait_until(runtime.now() + 10s);
      return EffectReport::done("once");
    }));
  });
  ASSERT_TRUE(begun->wait_until(runtime.now() + 10s));
  Task waker = runtime.spawn("waker", [&](std::stop_token) {
    while (store.calls("begin_effect") < 2) runtime.sleep_for(1ms, {});
    go_on->notify();
  });
  const EffectAnswer second = must(ask(says(EffectReport::done("twice"))));
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.result, "once");
  EXPECT_EQ(acted, 1);
}

TEST_F(EffectsOnMemory, ACallOfAProcessThatIsGoneIsInDoubt) {
  begin_elsewhere();
  other_lives = ActorLife::gone;
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), {.in_doubt = InDoubt::repeat})).kind, Kind::done);
  EXPECT_TRUE(calls.at(0).again);
}

TEST_F(EffectsOnMemory, E2_WhatADeadProcessOfThisDeliveryLeftBehindIsNotProbed) {
  begin_elsewhere();
  other_lives = ActorLife::gone;
  const EffectOptions options{.in_doubt = InDoubt::probe,
                              .probe = [](const EffectCall&) { return EffectReport::none(""); }};
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), options)).kind, Kind::held);
  EXPECT_EQ(acted, 0);
}

TEST_F(EffectsOnMemory, ACallOfAProcessThatLivesIsWaitedForWhileTheLeaseIsTrusted) {
  begin_elsewhere();
  other_lives = ActorLife::lives;
  trusted = runtime.now() + 50ms;
  EXPECT_EQ(must(ask(says(EffectReport::done("x")), {.in_doubt = InDoubt::repeat})).kind, Kind::lost);
  EXPECT_EQ(acted, 0);
}

TEST_F(EffectsOnMemory, NothingIsBegunAfterAStop) {
  stop.request_stop();
  const Result<EffectAnswer> answer = ask(says(EffectReport::done()));
  EXPECT_EQ(must(answer).kind, Kind::stopped);
  EXPECT_EQ(code_of(as_result(answer)), Code::held);
  EXPECT_EQ(acted, 0);
  EXPECT_EQ(store.calls("begin_effect"), 0);
}

TEST_F(EffectsOnMemory, WhatWasNotBegunInTimeLeavesNoDoubt) {
  store.after = [this](const std::string& verb, int) {
    if (verb == "begin_effect") trusted = runtime.now() - 1s;  // this process was paused in the middle of it
    return std::optional<Error>();
  };
  EXPECT_EQ(must(ask(says(EffectReport::done()))).kind, Kind::lost);
  EXPECT_EQ(acted, 0);
  EXPECT_EQ(effect().state, EffectState::none);
}

TEST_F(EffectsOnMemory, AResultOfAnotherHolderIsNotOverwritten) {
  const EffectAnswer late = must(ask([&](const EffectCall&) {
    claim();
    return EffectReport::done("late");
  }));
  EXPECT_EQ(late.kind, Kind::lost);
  EXPECT_EQ(events.field("effect_not_recorded", "reason"), "superseded");
  EXPECT_EQ(effect().state, EffectState::intent);
}

TEST_F(EffectsOnMemory, OfALargeResultTheFirstMebibyteIsKeptAndTheFirstCallSeesNoMore) {
  const EffectAnswer first = must(ask(says(EffectReport::done(std::string(kEffectResultBytesMax + 1, 'x')))));
  EXPECT_EQ(first.result.size(), kEffectResultBytesMax);
  EXPECT_EQ(must(ask(says(EffectReport::done()))).result, first.result);
  EXPECT_EQ(events.count("effect_result_cut"), 1);
}

TEST_F(EffectsOnMemory, AProbeAndItsPolicyGoTogether) {
  EXPECT_EQ(code_of(ask(says(EffectReport::done()), {.in_doubt = InDoubt::probe})), Code::invalid);
  EXPECT_EQ(code_of(ask(says(EffectReport::done()), {.probe = says(EffectReport::done())})), Code::invalid);
  EXPECT_EQ(acted, 0);
}

// The same through a worker and its handler.
TEST_F(WorkerOnMemory, E1_AnEffectOfAHandlerIsDoneOnceThoughItsJobRunsTwice) {
  const JobId id = enqueue({.backoff = {.first = 1ms, .most = 1ms}});
  std::vector<std::string> receipts;
  int charged = 0;
  const auto handler = [&](const Delivered& run) {
    receipts.push_back(must(run.effect("charge", run.job.payload, [&](const EffectCall&) {
      return EffectReport::done("receipt " + std::to_string(++charged));
    })));
    return receipts.size() == 1 ? RunResult{.kind = OutcomeKind::failed, .error = "once more"} : RunResult{};
  };
  EXPECT_TRUE(eventually([&] {
    must(work(handler));  // a drain may end before the retry is due
    return job(id).state == JobState::done;
  }));
  EXPECT_EQ(receipts.size(), 2U);
  EXPECT_EQ(charged, 1);
  for (const std::string& receipt : receipts) EXPECT_EQ(receipt, "receipt 1");
}

TEST_F(WorkerOnMemory, AnEffectInDoubtMakesTheJobWaitAndIsNoAlarm) {
  const JobId id = enqueue(1).front();
  std::optional<Code> said;
  const WorkReport report = must(work([&](const Delivered& run) {
    said = code_of(run.effect("charge", "10", [](const EffectCall&) { return EffectReport::unknown("no reply"); }));
    return RunResult{};
  }));
  EXPECT_EQ(said, Code::lost);
  EXPECT_EQ(job(id).state, JobState::waiting);
  EXPECT_EQ(report.refused + report.lost + report.done, 0);
  EXPECT_EQ(report.waiting, 1);
  EXPECT_EQ(events.count("effect_held"), 1);
  EXPECT_EQ(events.count("delivery_held"), 1);
  EXPECT_EQ(events.count("stale_write_refused") + events.count("lease_lost"), 0);
  EXPECT_EQ(events.field("worker_exit", "status"), "success");
}

// Its handler goes on; the next renewal is refused, and it is told to stop.
TEST_F(WorkerOnMemory, AHandlerWhoseJobWaitsIsToldToStopWithoutAnAlarm) {
  enqueue(1);
  bool told = false;
  const WorkReport report = must(work([&](const Delivered& run) {
    (void)run.effect("charge", "10", [](const EffectCall&) { return EffectReport::unknown("no reply"); });
    told = !runtime.sleep_for(10s, run.stop);
    return RunResult{};
  }));
  EXPECT_TRUE(told);
  EXPECT_EQ(report.refused + report.lost, 0);
  EXPECT_EQ(events.count("lease_lost"), 0);
}

}  // namespace
}  // namespace fenceline
