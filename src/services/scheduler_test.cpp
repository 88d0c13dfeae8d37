// Schedulers of simulated processes on one memory store, in virtual time.
#include "services/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "backends/memory/memory_store.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "store/forwarding_store.hpp"
#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

// The way from one process to the store.
class ScheduleRoad final : public ForwardingStore {
 public:
  ScheduleRoad(Runtime& runtime, Store& inner) : ForwardingStore(inner), runtime_(runtime) {}

  std::function<Fate(const std::string& verb, int call)> fate = [](const std::string&, int) { return Fate::fine; };
  std::map<std::string, int> calls;

  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    return call<AcquireReply>("acquire", [&] { return inner_.acquire(request); });
  }
  Result<RenewReply> renew(const RenewRequest& request) override {
    return call<RenewReply>("renew", [&] { return inner_.renew(request); });
  }
  Result<SchedulesReply> schedules(const SchedulesRequest& request) override {
    return call<SchedulesReply>("schedules", [&] { return inner_.schedules(request); });
  }
  Result<StepReply> step_ticks(const StepRequest& request) override {
    return call<StepReply>("step_ticks", [&] { return inner_.step_ticks(request); });
  }

 private:
  template <class T>
  Result<T> call(const std::string& verb, const std::function<Result<T>()>& body) {
    const Fate what = fate(verb, calls[verb]++);
    runtime_.sleep_for(1ms, {});
    if (what == Fate::refused) return fail(Code::unavailable, "the store is away");
    if (what == Fate::request_lost) return fail(Code::in_doubt, "no answer in time");
    Result<T> reply = body();
    runtime_.sleep_for(1ms, {});
    if (what == Fate::reply_lost) return fail(Code::in_doubt, "no answer in time");
    return reply;
  }

  Runtime& runtime_;
};

class Schedulers : public testing::Test {
 protected:
  struct Process {
    // Its clocks show anything.
    Process(Schedulers& test, const std::string& name, std::int64_t drift_ppm)
        : machine(name, 7h, drift_ppm, -24h * 365), runtime(test.simulation, machine, name), road(runtime, test.memory), scheduler(runtime, Log(events), road, {.ns = "default", .owner = name, .place = name}) {}

    ~Process() { runtime.kill(); }  // before what its fibers use goes away
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    sim::Machine machine;
    sim::SimRuntime runtime;
    ScheduleRoad road;
    LoggedEvents events;
    Scheduler scheduler;
  };

  sim::StackPool stacks;
  sim::Simulation simulation{7, stacks};
  sim::Machine machine{"store", Duration{0}, 0, Duration{0}};
  sim::SimRuntime server{simulation, machine, "store"};
  MemoryStore memory{server};
  Process a{*this, "a", 100};
  Process b{*this, "b", -100};
  Process c{*this, "c", 0};

  void start(Process& process) {
    process.runtime.start([&process](std::stop_token stop) { process.scheduler.run(stop); });
  }
  void run(Duration until) { simulation.run_until(Instant{until}); }
  WallTime now() const { return server.wall_now(); }

  ScheduleSpec every(Duration interval) const { return {.every = interval, .anchor = std::chrono::floor<std::chrono::seconds>(now()), .queue = "q"}; }
  void put(const std::string& name, const std::string& spec) {
    must(memory.change_schedule({.ns = "default", .name = name, .spec = spec, .request = name, .owner = "test", .act = {"ana", ""}}));
  }
  void put(const std::string& name, const ScheduleSpec& spec) { put(name, spec_text(spec)); }
  std::vector<TickRow> ticks(const std::string& name = "s") { return must(memory.ticks({.ns = "default", .schedule = name, .limit = 1000})).ticks; }
  std::int64_t fired(const std::string& name = "s") {
    const std::vector<TickRow> rows = ticks(name);
    return std::ranges::count_if(rows, &TickRow::fired);
  }
  std::int64_t skipped(const std::string& reason) {
    std::int64_t count = 0;
    for (const TickRow& row : ticks()) count += row.reason == reason ? row.count : 0;
    return count;
  }
  ScheduleRow row(const std::string& name = "s") { return must(memory.schedules({.ns = "default", .names = {name}})).schedules.front(); }
};

TEST_F(Schedulers, S1_EachTickFiresOnceAndWithinAFewMillisecondsOfItsInstant) {
  put("s", every(10s));
  start(a);
  run(10min + 5s);
  EXPECT_EQ(fired(), 60);
  for (const TickRow& row : ticks()) {
    EXPECT_GE(row.at, row.tick);
    EXPECT_LE(row.at - row.tick, 10ms);
    EXPECT_EQ(row.owner, "a");
  }
  EXPECT_EQ(a.scheduler.counts().fired, 60);
  EXPECT_EQ(a.scheduler.counts().steps_refused, 0);
  EXPECT_EQ(a.events.count("tick_fired"), 60);
}

TEST_F(Schedulers, OneOfThreeFiresAndTheOthersOnlyAskWhetherItStillDoes) {
  put("s", every(1s));
  start(a);
  run(1s);
  start(b);
  start(c);
  run(10min + 500ms);
  EXPECT_EQ(fired(), 600);
  EXPECT_EQ(a.scheduler.counts().fired, 600);
  EXPECT_EQ(b.road.calls["step_ticks"] + c.road.calls["step_ticks"], 0);
  EXPECT_EQ(b.road.calls["schedules"] + c.road.calls["schedules"], 0);
  EXPECT_LE(b.road.calls["acquire"], 130);
}

TEST_F(Schedulers, S1_WhenTheLeaderIsKilledAnotherFiresWithinTheWindow) {
  put("s", every(1s));
  start(a);
  run(1s);
  start(b);
  run(1min);
  a.runtime.kill();
  run(2min + 500ms);
  EXPECT_EQ(fired(), 120) << "those of the window fire late: catch-up counts what is on time to the minute";
  EXPECT_GT(b.scheduler.counts().fired, 50);
  std::vector<TickRow> rows = ticks();
  for (const TickRow& row : rows) EXPECT_LE(row.at - row.tick, 12s);
}

TEST_F(Schedulers, ALeaderThatIsAskedToStopHandsOverAtOnce) {
  put("s", every(1s));
  start(a);
  run(1s);
  start(b);
  run(1min + 500ms);
  a.runtime.terminate();
  run(2min + 500ms);
  EXPECT_EQ(fired(), 120);
  for (const TickRow& row : ticks()) EXPECT_LE(row.at - row.tick, 2s);
}

TEST_F(Schedulers, S1_ALeaderThatWasPausedPastItsLeaseFiresNothingTwice) {
  put("s", every(1s));
  start(a);
  run(1s);
  start(b);
  run(30s + 500ms);
  a.runtime.pause();
  run(2min);
  a.runtime.resume();
  run(3min + 500ms);
  EXPECT_EQ(fired(), 180);
  EXPECT_EQ(a.scheduler.counts().fired + b.scheduler.counts().fired, 180);
  EXPECT_EQ(must(memory.jobs({.ns = "default", .limit = 1000})).jobs.size(), 180u);
}

TEST_F(Schedulers, S1_AStepInDoubtIsSentAgainAsItIs) {
  put("s", every(10s));
  a.road.fate = [](const std::string& verb, int call) { return verb != "step_ticks" ? Fate::fine : call % 3 == 0 ? Fate::reply_lost : call % 3 == 1 ? Fate::request_lost : Fate::fine; };
  start(a);
  run(5min + 5s);
  EXPECT_EQ(fired(), 30);
  EXPECT_EQ(a.scheduler.counts().fired, 30);
  EXPECT_EQ(a.scheduler.counts().repeats, 60);
  EXPECT_EQ(a.scheduler.counts().duplicates, 0);
}

TEST_F(Schedulers, S2_TicksOfAStoreThatWasAwayStandInTheHistory) {
  ScheduleSpec spec = every(1min);
  spec.catch_up = CatchUp::none;
  put("s", spec);
  bool away = false;
  a.road.fate = [&](const std::string&, int) { return away ? Fate::refused : Fate::fine; };
  start(a);
  run(10min + 1s);
  away = true;
  run(2h + 10min + 1s);
  away = false;
  run(2h + 20min + 30s);
  EXPECT_EQ(fired(), 21);
  EXPECT_EQ(skipped("missed"), 119);
  EXPECT_GT(a.scheduler.counts().failures + a.road.calls["acquire"], 0);
}

TEST_F(Schedulers, S2_TheLatestOfWhatWasMissedFiresUnlessTheScheduleSaysOtherwise) {
  put("s", every(10min));
  start(a);
  run(1s);
  a.runtime.pause();
  run(2h + 5min);
  a.runtime.resume();
  run(2h + 6min);
  EXPECT_EQ(fired(), 1);
  EXPECT_EQ(skipped("superseded"), 11);
}

TEST_F(Schedulers, S3_AClockSetBackFiresNothingTwice) {
  put("s", every(1min));
  start(a);
  run(30min + 30s);
  machine.jump_wall(-10min);
  run(45min + 30s);
  EXPECT_EQ(fired(), 35) << "the ten that fired already wait until the clock has passed them again";
  EXPECT_EQ(a.scheduler.counts().duplicates, 0);
  EXPECT_EQ(skipped("superseded"), 0);
  EXPECT_GE(a.events.count("store_clock_set_back"), 1);
}

TEST_F(Schedulers, S3_WhatWasSkippedAheadOfAClockThatCameBackIsOpenAgain) {
  put("s", every(1min));
  start(a);
  run(10min + 30s);
  const Duration far = 173 * 365 * 24h;
  machine.jump_wall(far);
  run(10min + 45s);
  EXPECT_EQ(fired(), 11) << "the last one there";
  machine.jump_wall(-far);
  run(20min + 30s);
  std::int64_t here = 0;
  for (const TickRow& row : ticks()) here += row.fired() && row.tick < now() ? 1 : 0;
  EXPECT_EQ(here, 20);
  EXPECT_EQ(a.scheduler.counts().rewinds, 1);
  EXPECT_EQ(a.events.count("schedule_taken_back"), 1);
}

TEST_F(Schedulers, S3_AClockSetBackThatARefusedStepTellsOfOpensWhatOthersSkippedAheadOfIt) {
  put("s", every(1min));
  put("often", every(1s));  // its steps come between two looks
  start(a);
  run(10min + 30s);
  const Duration far = 173 * 365 * 24h;
  machine.jump_wall(far);
  run(10min + 45s);
  machine.jump_wall(-far);
  run(20min + 30s);
  std::int64_t here = 0;
  for (const TickRow& row : ticks()) here += row.fired() && row.tick < now() ? 1 : 0;
  EXPECT_EQ(here, 20);
  EXPECT_EQ(a.scheduler.counts().rewinds, 2);
}

TEST_F(Schedulers, S1_TicksThatFiredAheadOfTheClockDoNotFireAgain) {
  put("s", every(1min));
  start(a);
  run(10min + 30s);
  machine.jump_wall(1h);
  run(30min + 30s);
  machine.jump_wall(-1h);
  run(3h + 30s);
  const std::vector<TickRow> rows = ticks();
  EXPECT_EQ(a.scheduler.counts().duplicates, 0) << "they are known when it comes to them";
  EXPECT_EQ(std::ranges::count_if(rows, &TickRow::fired), 160) << "twenty were skipped while the clock was ahead, and have passed since";
  EXPECT_EQ(skipped("superseded"), 20);
}

TEST_F(Schedulers, AScheduleThatNobodyCanReadDoesNotHoldUpTheOthers) {
  put("from-the-future", R"({"version":1000})");
  put("s", every(10s));
  start(a);
  run(20min + 5s);
  EXPECT_EQ(fired(), 120);
  EXPECT_EQ(a.events.count("schedule_unusable"), 1);
  EXPECT_EQ(a.events.text("schedule_unusable", "schedule"), "from-the-future");
}

TEST_F(Schedulers, ANewScheduleIsHeardOfAtOnce) {
  start(a);
  run(10s);
  put("s", every(1s));
  run(12s);
  EXPECT_GE(fired(), 1);
}

TEST_F(Schedulers, APausedOneRestsAndWhatItMissedIsSkippedWhenItGoesOn) {
  put("s", every(10s));
  start(a);
  run(1min + 5s);
  must(memory.change_schedule({.ns = "default", .name = "s", .change = ScheduleChange::pause, .revision = row().revision, .request = "p", .owner = "test", .act = {"ana", ""}}));
  run(3min + 5s);
  EXPECT_EQ(fired(), 6);
  const PlannedStep planned = must(plan_step(server, memory, "default", must(known(row())), now(), StepEnd::now));
  must(memory.change_schedule({.ns = "default", .name = "s", .change = ScheduleChange::resume, .revision = row().revision, .step = planned.step, .request = "r", .owner = "test", .act = {"ana", ""}}));
  run(4min + 5s);
  EXPECT_EQ(fired(), 12);
  EXPECT_EQ(skipped("paused"), 12);
}

TEST_F(Schedulers, AnEarlierRunIsCancelledBeforeTheNextOneFires) {
  ScheduleSpec spec = every(10s);
  spec.overlap = Overlap::cancel_running;
  put("s", spec);
  start(a);
  run(1min + 5s);
  EXPECT_EQ(fired(), 6);
  EXPECT_EQ(a.scheduler.counts().cancelled, 5);
  EXPECT_EQ(must(memory.jobs({.ns = "default", .state = JobState::cancelled, .limit = 100})).jobs.size(), 5u);
}

TEST_F(Schedulers, WhileAnEarlierRunIsUnfinishedTheNextOneIsSkipped) {
  ScheduleSpec spec = every(10s);
  spec.overlap = Overlap::skip;
  put("s", spec);
  start(a);
  run(1min + 5s);
  EXPECT_EQ(fired(), 1);
  EXPECT_EQ(skipped("overlap"), 5);
}

TEST_F(Schedulers, TenThousandSchedulesCostAnIdleLeaderAFewCallsAMinute) {
  ScheduleSpec spec = every(24h);
  spec.anchor += 15min;
  const std::string text = spec_text(spec);
  for (int i = 0; i < 10'000; ++i) put("s" + std::to_string(i), text);
  start(a);
  run(1min);
  const std::map<std::string, int> before = a.road.calls;
  run(11min);
  int calls = 0;
  for (const auto& [verb, count] : a.road.calls) calls += count - (before.contains(verb) ? before.at(verb) : 0);
  EXPECT_LE(calls, 10 * (12 + 20)) << "looks every five seconds, and renewals";
  run(15min + 10s);
  EXPECT_EQ(a.scheduler.counts().fired, 10'000);
  EXPECT_LE(a.scheduler.counts().late_most, 200'000) << "all at one instant, a thousand in a call";
}

}  // namespace
}  // namespace fenceline::test
