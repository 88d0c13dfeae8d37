// Schedulers of simulated processes on one memory store, in virtual time.
#include "services/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

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
  std::map<std::string, Code> refuses;  // verbs, each with its error
  std::set<std::string> unreadable;     // schedules that this process cannot read

  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    return call<AcquireReply>("acquire", [&] { return inner_.acquire(request); });
  }
  Result<RenewReply> renew(const RenewRequest& request) override {
    return call<RenewReply>("renew", [&] { return inner_.renew(request); });
  }
  Result<SchedulesReply> schedules(const SchedulesRequest& request) override {
    return call<SchedulesReply>("schedules", [&] {
      Result<SchedulesReply> reply = inner_.schedules(request);
      for (ScheduleRow& row : reply->schedules) {
        if (unreadable.contains(row.name)) row.spec = R"({"version":1000})";
      }
      return reply;
    });
  }
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override {
    return call<ChangeScheduleReply>("change_schedule", [&] { return inner_.change_schedule(request); });
  }
  Result<TicksReply> ticks(const TicksRequest& request) override {
    return call<TicksReply>("ticks", [&] { return inner_.ticks(request); });
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
    if (const auto refused = refuses.find(verb); refused != refuses.end()) return fail(refused->second, "no");
    if (what == Fate::request_lost) return fail(Code::in_doubt, "no reply in time");
    Result<T> reply = body();
    runtime_.sleep_for(1ms, {});
    if (what == Fate::reply_lost) return fail(Code::in_doubt, "no reply in time");
    return reply;
  }

  Runtime& runtime_;
};

class Schedulers : public testing::Test {
 protected:
  struct Process {
    // Its clocks show anything.
    Process(Schedulers& test, const std::string& name, std::int64_t drift_ppm)
        : machine(name, 7h, drift_ppm, -24h * 365),
          runtime(test.simulation, machine, name),
          road(runtime, test.memory),
          scheduler(runtime, Log(events), road, {.ns = "default", .owner = name, .place = name}) {}

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

  ScheduleSpec every(Duration interval) const {
    return {.every = interval, .anchor = std::chrono::floor<std::chrono::seconds>(now()), .queue = "q"};
  }
  void put(const std::string& name, const std::string& spec) {
    must(memory.change_schedule(
        {.ns = "default", .name = name, .spec = spec, .request = name, .owner = "test", .act = {"ana", ""}}));
  }
  void put(const std::string& name, const ScheduleSpec& spec) { put(name, spec_text(spec)); }
  std::vector<TickRow> ticks(const std::string& name = "s") {
    return must(memory.ticks({.ns = "default", .schedule = name, .limit = 1000})).ticks;
  }
  std::int64_t fired(const std::string& name = "s") {
    const std::vector<TickRow> rows = ticks(name);
    return std::ranges::count_if(rows, &TickRow::fired);
  }
  std::int64_t skipped(const std::string& reason) {
    std::int64_t count = 0;
    for (const TickRow& row : ticks()) count += row.reason == reason ? row.count : 0;
    return count;
  }
  ScheduleRow row(const std::string& name = "s") {
    return must(memory.schedules({.ns = "default", .names = {name}})).schedules.front();
  }
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
  a.road.fate = [](const std::string& verb, int call) {
    return verb != "step_ticks" ? Fate::fine
           : call % 3 == 0      ? Fate::reply_lost
           : call % 3 == 1      ? Fate::request_lost
                                : Fate::fine;
  };
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
  EXPECT_EQ(std::ranges::count_if(rows, &TickRow::fired), 160)
      << "twenty were skipped while the clock was ahead, and have passed since";
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
  for (const TickRow& row : ticks()) EXPECT_LE(row.at - row.tick, 10ms) << "it acts on while it offers the lead";
  EXPECT_EQ(a.events.count("scheduler_offers"), 3) << "every ten minutes";
  EXPECT_LE(a.road.calls["acquire"], 4);
}

TEST_F(Schedulers, S2_WhoCannotReadAScheduleLetsAnotherLead) {
  put("hard", every(10s));
  put("s", every(10s));
  a.road.unreadable = {"hard"};
  start(a);
  run(12s);
  EXPECT_EQ(fired("hard"), 0);
  start(b);
  run(10min + 5s);
  EXPECT_EQ(fired("hard"), 60) << "the first one, two seconds late, is on time";
  EXPECT_EQ(fired("s"), 60);
  for (const TickRow& row : ticks("s")) EXPECT_LE(row.at - row.tick, 10ms);
  EXPECT_EQ(a.scheduler.counts().terms, 1);
  const int before = a.road.calls["step_ticks"];
  run(20min + 5s);
  EXPECT_EQ(a.road.calls["step_ticks"], before) << "a minute later it follows";
}

TEST_F(Schedulers, WhatNobodyCanReadMakesTheLeadGoRoundNowAndThen) {
  put("hard", every(10s));
  put("s", every(10s));
  for (Process* process : {&a, &b, &c}) {
    process->road.unreadable = {"hard"};
    start(*process);
  }
  run(1h + 5s);
  EXPECT_EQ(fired("s"), 360);
  for (const TickRow& row : ticks("s")) EXPECT_LE(row.at - row.tick, 2s);
  const int steps = a.road.calls["step_ticks"] + b.road.calls["step_ticks"] + c.road.calls["step_ticks"];
  EXPECT_LE(steps, 360 + 3 * 6 * 7) << "each acts beside the others for a minute of ten";
  EXPECT_EQ(fired("hard"), 0);
}

TEST_F(Schedulers, S2_WhoIsNotLetInLetsAnotherLead) {
  put("s", every(10s));
  a.road.refuses["step_ticks"] = Code::denied;
  start(a);
  run(1s);
  start(b);
  run(10min + 5s);
  EXPECT_EQ(fired(), 60);
  for (const TickRow& row : ticks()) {
    EXPECT_EQ(row.owner, "b");
    EXPECT_LE(row.at - row.tick, 3s);
  }
  EXPECT_LE(a.road.calls["step_ticks"], 2);
}

TEST_F(Schedulers, S2_ANamespaceThatBeganAnewUnderTheSameRevisionsIsReadAnew) {
  put("s", every(10s));
  start(a);
  run(1s);
  start(b);
  run(15s);
  a.runtime.pause();
  run(45s);
  a.runtime.resume();  // it follows now, and remembers what it led
  run(1min);
  must(memory.remove_namespace("default", {"ana", ""}));
  put("s", every(7s));
  const WallTime began = now();
  b.runtime.kill();
  run(3min);
  EXPECT_GT(fired(), 10);
  for (const TickRow& row : ticks())
    EXPECT_EQ((row.tick - std::chrono::floor<std::chrono::seconds>(began)) % 7s, 0s) << "a tick of a rule that is gone";
}

TEST_F(Schedulers, S2_ATermThatIsLostAndWonAtOnceIsAnotherOne) {
  put("s", every(10s));
  start(a);
  run(15s);
  a.runtime.pause();
  run(40s);
  must(memory.remove_namespace("default", {"ana", ""}));
  put("s", every(7s));
  const WallTime began = now();
  run(60s);
  a.runtime.resume();
  run(3min);
  EXPECT_GT(fired(), 10);
  for (const TickRow& row : ticks())
    EXPECT_EQ((row.tick - std::chrono::floor<std::chrono::seconds>(began)) % 7s, 0s) << "a tick of a rule that is gone";
}

TEST_F(Schedulers, S3_ATakeBackThatIsRefusedIsNotAskedForWithoutAPause) {
  put("s", every(1min));
  start(a);
  run(10min + 30s);
  const Duration far = 173 * 365 * 24h;
  machine.jump_wall(far);
  run(10min + 45s);
  machine.jump_wall(-far);
  for (const Code code : {Code::conflict, Code::refused, Code::denied}) {
    a.road.refuses["change_schedule"] = code;
    const int before = a.road.calls["change_schedule"];
    const Duration from = simulation.now().time_since_epoch();
    run(from + 1min);
    EXPECT_GE(a.road.calls["change_schedule"] - before, 1);
    EXPECT_LE(a.road.calls["change_schedule"] - before, 15) << "once in each look at most";
  }
  a.road.refuses.clear();
  run(20min + 30s);
  EXPECT_EQ(a.scheduler.counts().rewinds, 1);
}

TEST_F(Schedulers, S1_WhatFiredAheadOfTheClockIsAskedForOnce) {
  put("s", every(1s));
  start(a);
  run(1min);
  machine.jump_wall(1h);
  run(41min);  // 2,400 ticks fire there
  machine.jump_wall(-1h);
  run(42min);
  const int before = a.road.calls["ticks"];
  run(2h + 30min);
  EXPECT_EQ(a.scheduler.counts().duplicates, 0);
  EXPECT_LE(a.road.calls["ticks"] - before, 20) << "not with each of 6,500 steps";
  EXPECT_GT(a.scheduler.counts().fired, 6000);
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
  must(memory.change_schedule({.ns = "default",
                               .name = "s",
                               .change = ScheduleChange::pause,
                               .revision = row().revision,
                               .request = "p",
                               .owner = "test",
                               .act = {"ana", ""}}));
  run(3min + 5s);
  EXPECT_EQ(fired(), 6);
  const PlannedStep planned = must(plan_step(server, memory, "default", must(known(row())), now(), StepEnd::now));
  must(memory.change_schedule({.ns = "default",
                               .name = "s",
                               .change = ScheduleChange::resume,
                               .revision = row().revision,
                               .step = planned.step,
                               .request = "r",
                               .owner = "test",
                               .act = {"ana", ""}}));
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
