// People's acts on the memory store; time and the fate of each call are the test's.
#include "services/schedule_acts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "backends/memory/memory_store.hpp"
#include "base/check.hpp"
#include "model/time_zone.hpp"
#include "store/forwarding_store.hpp"
#include "support/hand_runtime.hpp"
#include "support/results.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const std::string kNs = "default";
const Act kAct{.actor = "ana", .reason = "because"};
constexpr WallTime kBegin = std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 10h + 30min;

class Road final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::function<void()> before_change = [] {};
  int requests_lost = 0;  // of the next changes
  bool denied = false;    // the role may no longer read
  int replies_lost = 0;
  bool full = false;  // has no room for jobs
  std::string hard;   // a schedule that others change all the time
  int changes = 0;

  Result<SchedulesReply> schedules(const SchedulesRequest& request) override {
    if (denied) return fail(Code::denied, "permission denied");
    return inner_.schedules(request);
  }
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override {
    ++changes;
    if (requests_lost > 0) {
      --requests_lost;
      return fail(Code::in_doubt, "no reply in time");
    }
    before_change();
    if (request.name == hard) return fail(Code::conflict, "schedule " + hard + " was changed");
    if (full && request.step && !request.step->fired.empty()) return fail(Code::full, "there is no room");
    Result<ChangeScheduleReply> reply = inner_.change_schedule(request);
    if (replies_lost == 0) return reply;
    --replies_lost;
    return fail(Code::in_doubt, "no reply in time");
  }
};

ScheduleSpec hourly(CatchUp catch_up = CatchUp::latest) {
  ScheduleSpec spec;
  spec.every = 1h;
  spec.queue = "q";
  spec.catch_up = catch_up;
  return spec;
}

struct ScheduleActsTest : testing::Test {
  ScheduleActsTest() { clock.set_wall(kBegin); }

  ManualClock clock;
  HandRuntime runtime{clock};
  MemoryStore store{clock};
  Road road{store};
  ScheduleActs acts{runtime, road, {.ns = kNs, .place = "host:1"}};

  ScheduleRow row(const std::string& name = "s") {
    const SchedulesReply reply =
        must(store.schedules({.ns = kNs, .names = {name}, .changed_after = {}, .after = {}, .unfinished = true}));
    check(reply.schedules.size() == 1, "the schedule is there");
    return reply.schedules.front();
  }
  // What the scheduler does when it looks.
  StepAnswer step(const std::string& name = "s") {
    const KnownSchedule schedule = must(known(row(name)));
    const PlannedStep planned = must(plan_step(runtime, store, kNs, schedule, clock.wall_now()));
    if (!planned.step) return {};
    if (!planned.cancel.empty())
      must(store.cancel({.ns = kNs,
                         .ids = planned.cancel,
                         .request = "c" + std::to_string(runtime.random()),
                         .only = {},
                         .act = {.actor = "scheduler", .reason = ""}}));
    return must(store.step_ticks({.ns = kNs,
                                  .steps = {*planned.step},
                                  .request = "r" + std::to_string(runtime.random()),
                                  .owner = "o",
                                  .place = "host:2"}))
        .answers.front();
  }
  std::vector<TickRow> ticks(const std::string& name = "s") {
    std::vector<TickRow> rows = must(store.ticks({.ns = kNs, .schedule = name, .limit = 1000})).ticks;
    std::ranges::reverse(rows);
    return rows;
  }
  std::vector<std::string> trail() {
    std::vector<std::string> acts_done;
    for (const TrailEntry& entry : must(store.trail(kNs, 1000))) acts_done.push_back(entry.act + " " + entry.subject);
    return acts_done;
  }
  std::string last_reason() { return must(store.trail(kNs, 1000)).back().reason; }
  // As a newer version wrote it, or in a zone that this machine does not know any more.
  void put_unreadable(const std::string& name) {
    must(store.change_schedule(
        {.ns = kNs, .name = name, .spec = R"({"version":1000})", .request = name, .owner = "test", .act = kAct}));
  }
  std::size_t jobs() { return must(store.jobs({.ns = kNs, .limit = 1000})).jobs.size(); }
};

// "10:00 fired", "11:00-13:00 3 paused".
std::string words(const TickRow& row) {
  const auto time = [](WallTime at) { return local_text(at, "UTC").substr(11, 5); };
  if (row.fired()) return time(row.tick) + " fired";
  return time(row.tick) + "-" + time(row.last) + " " + std::to_string(row.count) + " " + row.reason;
}

std::vector<std::string> words(const std::vector<TickRow>& rows) {
  std::vector<std::string> out;
  for (const TickRow& row : rows) out.push_back(words(row));
  return out;
}

TEST_F(ScheduleActsTest, PutAddsChangesAndLeavesAloneWhatIsSoAlready) {
  EXPECT_EQ(must(acts.put("s", hourly(), kAct)).outcome, PutOutcome::added);
  const std::int64_t revision = row().revision;
  EXPECT_EQ(must(acts.put("s", hourly(), kAct)).outcome, PutOutcome::same);
  EXPECT_EQ(row().revision, revision);
  const PutReport changed = must(acts.put("s", hourly(CatchUp::all), kAct));
  EXPECT_EQ(changed.outcome, PutOutcome::changed);
  EXPECT_EQ(changed.schedule.spec, spec_text(hourly(CatchUp::all)));
  EXPECT_EQ(trail(), (std::vector<std::string>{"schedule_added s", "schedule_changed s"}));
  EXPECT_EQ(code_of(acts.put("s", {}, kAct)), Code::invalid);
  EXPECT_EQ(code_of(acts.put("-", hourly(), kAct)), Code::invalid);
}

TEST_F(ScheduleActsTest, AnActOnAScheduleThatIsNotThereSaysSo) {
  EXPECT_EQ(code_of(acts.pause("s", kAct)), Code::not_found);
  EXPECT_EQ(code_of(acts.resume("s", kAct)), Code::not_found);
  EXPECT_EQ(code_of(acts.remove("s", kAct)), Code::not_found);
  EXPECT_EQ(code_of(acts.rewind("s", kBegin, kAct)), Code::not_found);
  EXPECT_EQ(code_of(acts.run("s", kAct)), Code::not_found);
}

TEST_F(ScheduleActsTest, S2_AnEditChangesOnlyTicksAfterIt) {
  must(acts.put("s", hourly(), kAct));
  clock.advance(130min);  // 12:40; 11:00 and 12:00 are open
  ScheduleSpec often = hourly(CatchUp::all);
  often.every = 30min;
  must(acts.put("s", often, kAct));
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-11:00 1 superseded", "12:00 fired"}))
      << "by the rule that held until then";
  EXPECT_EQ(due_at(must(known(row()))), kBegin + 150min) << "12:30 was no tick when it came";
  clock.advance(30min);
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-11:00 1 superseded", "12:00 fired", "13:00 fired"}));
}

TEST_F(ScheduleActsTest, S2_APauseIsOneRange) {
  must(acts.put("s", hourly(), kAct));
  clock.advance(31min);
  EXPECT_EQ(must(acts.pause("s", kAct)).paused->reason, "because");
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00 fired"}));
  EXPECT_EQ(due_at(must(known(row()))), std::nullopt);
  clock.advance(4h);
  must(acts.pause("s", {.actor = "bob", .reason = "again"}));
  EXPECT_EQ(row().paused->by, "ana");
  EXPECT_FALSE(must(acts.resume("s", kAct)).paused);
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00 fired", "12:00-15:00 4 paused"}));
  must(acts.resume("s", kAct));
  EXPECT_EQ(trail(), (std::vector<std::string>{"schedule_added s", "schedule_paused s", "schedule_resumed s"}));
}

TEST_F(ScheduleActsTest, S1_RemovedAndAddedAgainAScheduleFiresNoTickTwice) {
  must(acts.put("s", hourly(CatchUp::all), kAct));
  clock.advance(31min);
  EXPECT_TRUE(must(acts.remove("s", kAct)).removed);
  EXPECT_EQ(jobs(), 1U) << "11:00 was due when it went";
  clock.set_wall(kBegin + 25min);  // the clock was set back, and 11:00 comes once more
  must(acts.put("s", hourly(CatchUp::all), kAct));
  clock.advance(70min);
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00 fired", "12:00 fired"}));
  EXPECT_EQ(jobs(), 2U);
}

TEST_F(ScheduleActsTest, S1_ARewindOpensWhatWasSkippedAndNothingElse) {
  must(acts.put("s", hourly(), kAct));
  clock.advance(5h + 1min);  // 15:31
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-14:00 4 superseded", "15:00 fired"}));
  EXPECT_EQ(must(acts.rewind("s", kBegin + 90min, kAct)).resolved_to, kBegin + 90min);
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-12:00 2 superseded", "15:00 fired"}));
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-13:00 3 superseded", "14:00 fired", "15:00 fired"}));
  EXPECT_EQ(row().resolved_to, kBegin + 4h + 30min);
  EXPECT_EQ(jobs(), 2U);
  EXPECT_EQ(trail().back(), "schedule_rewound s 2026-11-16T12:00:00Z");
}

TEST_F(ScheduleActsTest, ARewindThatOpensNothingIsRefused) {
  must(acts.put("s", hourly(CatchUp::all), kAct));
  clock.advance(90min);
  step();
  EXPECT_EQ(code_of(acts.rewind("s", kBegin, kAct)), Code::refused) << "all of them fired";
  EXPECT_EQ(code_of(acts.rewind("s", kBegin - 1h, kAct)), Code::refused) << "it was not there then";
  EXPECT_EQ(code_of(acts.rewind("s", kBegin + 5h, kAct)), Code::refused) << "that lies ahead";
  EXPECT_EQ(trail(), (std::vector<std::string>{"schedule_added s"}));
}

TEST_F(ScheduleActsTest, ARunIsBesideAllTicks) {
  ScheduleSpec spec = hourly();
  spec.payload = R"({"at":"${tick}"})";
  spec.jitter = 1h;
  must(acts.put("s", spec, kAct));
  const JobId id = must(acts.run("s", kAct));
  const Job job = *must(store.job(kNs, id));
  EXPECT_EQ(job.payload, R"({"at":"2026-11-16T10:30:00Z"})");
  EXPECT_EQ(job.run_at, clock.wall_now());
  EXPECT_EQ(job.tags, std::vector<std::string>{"schedule:s"});
  EXPECT_TRUE(ticks().empty());
  EXPECT_EQ(trail().back(), "schedule_run s " + to_string(id));
}

TEST_F(ScheduleActsTest, AReplyThatWasLostIsAskedForAgainAndNothingHappensTwice) {
  road.replies_lost = 2;
  EXPECT_EQ(must(acts.put("s", hourly(), kAct)).outcome, PutOutcome::added);
  EXPECT_EQ(road.changes, 3);
  road.replies_lost = 1;
  must(acts.run("s", kAct));
  EXPECT_EQ(jobs(), 1U);
  road.replies_lost = 3;
  must(acts.pause("s", kAct));
  road.replies_lost = 1;
  must(acts.remove("s", kAct));
  EXPECT_EQ(trail().size(), 4U);
  road.replies_lost = 100;
  EXPECT_EQ(code_of(acts.put("s", hourly(), kAct)), Code::in_doubt);
}

TEST_F(ScheduleActsTest, ARunWhoseAnswerGotLostIsFoundThoughTheScheduleWasChangedSince) {
  must(acts.put("s", hourly(), kAct));
  road.replies_lost = 1;
  ScheduleActs other{runtime, store, {.ns = kNs, .place = "host:3"}};
  road.before_change = [&] {
    if (road.changes == 3) must(other.put("s", hourly(CatchUp::all), kAct));
  };
  const JobId id = must(acts.run("s", kAct));
  EXPECT_EQ(jobs(), 1U);
  EXPECT_TRUE(must(store.job(kNs, id)));
}

TEST_F(ScheduleActsTest, WhatMayHaveHappenedAndWasUndoneByAnotherDoesNotHappenOnceMore) {
  must(acts.put("s", hourly(), kAct));
  ScheduleActs other{runtime, store, {.ns = kNs, .place = "host:3"}};
  std::function<void()> undo;
  road.before_change = [&] {
    if (road.replies_lost == 0 && undo) std::exchange(undo, nullptr)();  // before the repeat
  };
  undo = [&] { must(other.put("s", hourly(), kAct)); };
  road.replies_lost = 1;
  EXPECT_EQ(code_of(acts.remove("s", kAct)), Code::in_doubt);
  EXPECT_EQ(row().spec, spec_text(hourly())) << "the other one's stays";
  undo = [&] { clock.advance(1s), must(other.resume("s", kAct)); };
  road.replies_lost = 1;
  EXPECT_EQ(code_of(acts.pause("s", kAct)), Code::in_doubt);
  EXPECT_FALSE(row().paused);
  undo = [&] { clock.advance(1s), must(other.remove("s", kAct)); };
  road.replies_lost = 1;
  EXPECT_EQ(code_of(acts.pause("s", kAct)), Code::not_found);
}

TEST_F(ScheduleActsTest, AfterALostReplyALookThatFailsLeavesTheActInDoubt) {
  must(acts.put("s", hourly(), kAct));
  ScheduleActs other{runtime, store, {.ns = kNs, .place = "host:3"}};
  bool repeated = false;
  road.before_change = [&] {
    if (road.replies_lost > 0 || std::exchange(repeated, true)) return;
    must(other.put("s", hourly(CatchUp::all), kAct));
    road.denied = true;
  };
  road.replies_lost = 1;
  EXPECT_EQ(code_of(acts.pause("s", kAct)), Code::in_doubt) << "not denied: the first try may have happened";
}

TEST_F(ScheduleActsTest, WhatSurelyDidNotHappenIsDecidedAnew) {
  must(acts.put("s", hourly(), kAct));
  clock.advance(31min);
  road.requests_lost = 1;
  road.before_change = [&] { step(); };  // the scheduler is faster than the repeat
  EXPECT_TRUE(must(acts.pause("s", kAct)).paused);
  ScheduleActs other{runtime, store, {.ns = kNs, .place = "host:3"}};
  road.before_change = [&] {
    if (!must(store.schedules({.ns = kNs, .names = {"s"}})).schedules.empty()) must(other.remove("s", kAct));
  };
  EXPECT_EQ(must(acts.put("s", hourly(CatchUp::all), kAct)).outcome, PutOutcome::added) << "a put has no 'not found'";
}

TEST_F(ScheduleActsTest, S2_WhatCannotBeReadHereCanBeStoppedAndMended) {
  put_unreadable("s");
  clock.advance(3h);
  EXPECT_TRUE(must(acts.pause("s", kAct)).paused);
  EXPECT_FALSE(must(acts.resume("s", kAct)).paused);
  EXPECT_EQ(row().resolved_to, kBegin) << "whoever can read it settles it";
  EXPECT_EQ(last_reason(), "because");
  for (const Error& error : {acts.rewind("s", kBegin, kAct).error(), acts.run("s", kAct).error()}) {
    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_NE(error.message.find("newer than this program knows; update fenceline; this program cannot read it, so "),
              std::string::npos)
        << error.message;
  }
  EXPECT_EQ(must(acts.put("s", hourly(), kAct)).outcome, PutOutcome::changed);
  EXPECT_EQ(last_reason(),
            "because; its old definition could not be read: its ticks since 2026-11-16T10:30:00Z are unknown");
  EXPECT_EQ(row().counts_from, kBegin + 3h);
  clock.advance(1h);
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"14:00 fired"}));

  put_unreadable("other");
  clock.advance(1h);
  EXPECT_TRUE(must(acts.remove("other", {.actor = "ana", .reason = std::string(kNoteBytesMax, 'x')})).removed);
  put_unreadable("long");
  clock.advance(1h);
  must(acts.put("long", hourly(), {.actor = "ana", .reason = std::string(kNoteBytesMax, 'x')}));
  EXPECT_EQ(last_reason().size(), kNoteBytesMax);
}

TEST_F(ScheduleActsTest, S2_AFullStoreKeepsNobodyFromAPauseOrARemoval) {
  must(acts.put("s", hourly(), kAct));
  must(acts.put("gone", hourly(CatchUp::all), kAct));
  clock.advance(130min);  // 12:40; 11:00 and 12:00 are open
  road.full = true;
  EXPECT_EQ(code_of(acts.put("s", hourly(CatchUp::all), kAct)), Code::full);
  EXPECT_TRUE(must(acts.pause("s", kAct)).paused);
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-11:00 1 superseded"}));
  EXPECT_EQ(last_reason(), "because; the store is full: ticks from 2026-11-16T12:00:00Z on did not fire");
  EXPECT_TRUE(must(acts.remove("gone", kAct)).removed);
  clock.advance(1h);
  must(acts.resume("s", kAct));
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-11:00 1 superseded", "12:00-13:00 2 paused"}));
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(ScheduleActsTest, WhoeverIsOvertakenDecidesAnew) {
  must(acts.put("s", hourly(), kAct));
  clock.advance(31min);
  int overtaken = 0;
  road.before_change = [&] {
    if (overtaken < 3) clock.advance(1h), step(), ++overtaken;  // the scheduler is faster
  };
  must(acts.pause("s", kAct));
  EXPECT_EQ(overtaken, 3);
  EXPECT_EQ(words(ticks()),
            (std::vector<std::string>{"11:00-11:00 1 superseded", "12:00 fired", "13:00 fired", "14:00 fired"}));
}

TEST_F(ScheduleActsTest, WhoIsOvertakenAllTheTimeGivesUp) {
  must(acts.put("s", hourly(), kAct));
  clock.advance(31min);
  road.before_change = [&] { clock.advance(1h), step(); };
  EXPECT_EQ(code_of(acts.pause("s", kAct)), Code::conflict);
  EXPECT_LT(road.changes, 50);
}

TEST_F(ScheduleActsTest, AnEditUnderAClockThatCameBackCountsFromThatClock) {
  must(acts.put("s", hourly(), kAct));
  clock.set_wall(kBegin + std::chrono::days{365});
  step();
  clock.set_wall(kBegin + 31min);
  must(acts.put("s", hourly(CatchUp::all), kAct));
  EXPECT_LE(row().counts_from, kBegin + 1h);
  EXPECT_LE(due_at(must(known(row()))), kBegin + 2h);
}

TEST_F(ScheduleActsTest, JobsOfEarlierTicksAreCancelledBeforeALaterOneFires) {
  ScheduleSpec spec = hourly();
  spec.overlap = Overlap::cancel_running;
  must(acts.put("s", spec, kAct));
  clock.advance(30min);
  step();
  clock.advance(1h);
  must(acts.pause("s", kAct));
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00 fired", "12:00 fired"}));
  EXPECT_EQ(must(store.job(kNs, *ticks().front().job))->state, JobState::cancelled);
  EXPECT_EQ(must(store.job(kNs, *ticks().back().job))->state, JobState::ready);
}

TEST_F(ScheduleActsTest, S1_AnEarlierTickThatIsOpenAgainCancelsNoJobOfALaterOne) {
  ScheduleSpec spec = hourly();
  spec.overlap = Overlap::cancel_running;
  must(acts.put("s", spec, kAct));
  must(acts.pause("s", kAct));
  clock.advance(2h);
  must(acts.resume("s", kAct));
  clock.advance(31min);
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-12:00 2 paused", "13:00 fired"}));
  must(acts.rewind("s", kBegin, kAct));
  step();
  EXPECT_EQ(words(ticks()), (std::vector<std::string>{"11:00-11:00 1 superseded", "12:00 fired", "13:00 fired"}));
  EXPECT_EQ(must(store.job(kNs, *ticks().back().job))->state, JobState::ready);
}

TEST_F(ScheduleActsTest, OneThatCannotBePutKeepsNoOtherFromIt) {
  road.hard = "hard";
  const ReconcileReport report = must(acts.reconcile({{"a", hourly()}, {"hard", hourly()}, {"z", hourly()}}, kAct));
  EXPECT_EQ(report.added, (std::vector<std::string>{"a", "z"}));
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed.front().name, "hard");
  EXPECT_EQ(report.failed.front().error.code, Code::conflict);
  road.requests_lost = 100;
  EXPECT_EQ(code_of(acts.reconcile({{"b", hourly()}}, kAct)), Code::in_doubt) << "that is no matter of one schedule";
}

TEST_F(ScheduleActsTest, WhatAReconcileWouldDoIsSaidAndNotDone) {
  must(acts.put("old", hourly(), kAct));
  must(acts.put("same", hourly(), kAct));
  const std::vector<NamedSpec> list{{"new", hourly()}, {"old", hourly(CatchUp::all)}, {"same", hourly()}};
  const std::size_t before = trail().size();
  const ReconcileReport predicted = must(acts.dry_run(list));
  EXPECT_EQ(trail().size(), before);
  EXPECT_EQ(code_of(acts.dry_run({{"new", hourly()}, {"new", hourly()}})), Code::invalid);
  const ReconcileReport done = must(acts.reconcile(list, kAct));
  EXPECT_EQ(predicted.added, done.added);
  EXPECT_EQ(predicted.changed, done.changed);
  EXPECT_EQ(predicted.same, done.same);
}

TEST_F(ScheduleActsTest, ReconcileAddsAndEditsAndNeverRemoves) {
  must(acts.put("kept", hourly(), kAct));
  must(acts.put("same", hourly(), kAct));
  must(acts.put("old", hourly(), kAct));
  const ReconcileReport report =
      must(acts.reconcile({{"new", hourly()}, {"old", hourly(CatchUp::all)}, {"same", hourly()}}, kAct));
  EXPECT_EQ(report.added, std::vector<std::string>{"new"});
  EXPECT_EQ(report.changed, std::vector<std::string>{"old"});
  EXPECT_EQ(report.same, std::vector<std::string>{"same"});
  EXPECT_EQ(row("kept").spec, spec_text(hourly()));
  const std::size_t before = trail().size();
  EXPECT_EQ(code_of(acts.reconcile({{"other", hourly()}, {"bad", {}}}, kAct)), Code::invalid);
  EXPECT_EQ(code_of(acts.reconcile({{"other", hourly()}, {"other", hourly()}}, kAct)), Code::invalid);
  EXPECT_EQ(trail().size(), before);
}

// Whatever people, the scheduler and the clock do: of the ticks of the rule at hand, as far as the account goes, each
// has ended once.
TEST_F(ScheduleActsTest, S2_TheAccountIsExactWhateverHappens) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  std::map<std::string, int> done;
  for (int round = 0; round < 40; ++round) {
    const std::string name = "s" + std::to_string(round);
    const auto spec = [&] {
      ScheduleSpec made = hourly(static_cast<CatchUp>(below(3)));
      made.every = std::chrono::minutes{1 + below(90)};
      made.overlap = static_cast<Overlap>(below(4));
      made.cap = 1 + below(5);
      return made;
    };
    must(acts.put(name, spec(), kAct));
    for (int turn = 0; turn < 40; ++turn) {
      const ScheduleRow before = row(name);
      switch (below(8)) {
        case 0: must(acts.pause(name, kAct)); break;
        case 1:
        case 2: must(acts.resume(name, kAct)); break;
        case 3: must(acts.put(name, spec(), kAct)); break;
        case 4:
          done[acts.rewind(name, before.resolved_to - Duration{random() % 20'000'000'000}, kAct) ? "rewound"
                                                                                                 : "not rewound"] += 1;
          break;
        case 5:
          clock.set_wall(clock.wall_now() + Duration{static_cast<Duration::rep>(random() % 7'200'000'000)} - 1h);
          break;
        default: clock.advance(Duration{random() % 7'200'000'000});
      }
      if (!row(name).paused) done[std::string(to_string(step(name).refused))] += 1;
      const ScheduleRow now = row(name);
      const KnownSchedule schedule = must(known(now));
      std::int64_t ended = 0;
      for (const TickRow& tick : ticks(name)) {
        if (tick.tick > now.counts_from && tick.tick <= now.resolved_to &&
            (!tick.fired() || schedule.rule.count(tick.tick - Duration{1}, tick.tick) == 1))
          ended += tick.count;
      }
      ASSERT_EQ(ended, schedule.rule.count(now.counts_from, now.resolved_to))
          << name << " turn " << turn << " " << testing::PrintToString(words(ticks(name)));
    }
  }
  EXPECT_GT(done["rewound"], 20);
  EXPECT_GT(done["not rewound"], 20);
  EXPECT_GT(done[""], 500);
}

}  // namespace
}  // namespace fenceline::test
