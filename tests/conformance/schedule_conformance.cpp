// What every store promises about what people do to a schedule: in one step with the account up to that moment, under
// the revision that they saw, and in the trail.
#include <atomic>
#include <functional>
#include <stdexcept>

#include "base/utc_text.hpp"
#include "conformance/conformance.hpp"
#include "support/comes_about.hpp"

namespace fenceline::test {

using namespace std::chrono_literals;

WallTime ScheduleConformance::minute(std::int64_t number) {
  if (!start_) start_ = wall();
  return *start_ + std::chrono::minutes{number};
}

std::int64_t ScheduleConformance::minute_of(WallTime at) { return (at - minute(0)) / 1min; }

ScheduleRow ScheduleConformance::nothing(const std::string& name) {
  ScheduleRow row;
  row.name = name;
  return row;
}

ChangeScheduleRequest ScheduleConformance::changing(const ScheduleRow& row, ScheduleChange change) {
  ChangeScheduleRequest request;
  request.ns = "default";
  request.name = row.name;
  request.change = change;
  request.revision = row.revision;
  request.request = to_string(new_id());
  if (change == ScheduleChange::put) request.spec = "spec of " + row.name;
  request.owner = "person";
  request.place = "desk:1";
  request.act = kAct;
  return request;
}

ChangeScheduleRequest ScheduleConformance::rewinding(const ScheduleRow& row, std::int64_t to) {
  ChangeScheduleRequest request = changing(row, ScheduleChange::rewind);
  request.from = row.resolved_to;
  request.to = minute(to);
  return request;
}

ChangeScheduleRequest ScheduleConformance::running(const ScheduleRow& row) {
  ChangeScheduleRequest request = changing(row, ScheduleChange::run);
  request.job = new_job();
  return request;
}

ScheduleRow ScheduleConformance::added_schedule(const std::string& name) {
  minute(0);
  return changed(nothing(name), ScheduleChange::put);
}

std::string ScheduleConformance::tried(const ChangeScheduleRequest& request) {
  const auto reply = store().change_schedule(request);
  return reply ? "" : std::string(to_string(reply.error().code));
}

TickStep ScheduleConformance::step(const ScheduleRow& row, std::int64_t to, const std::vector<std::int64_t>& fired,
                                   const std::vector<SkippedTicks>& skipped) {
  TickStep step{.schedule = row.name,
                .revision = row.revision,
                .from = row.resolved_to,
                .to = minute(to),
                .fired = {},
                .skipped = skipped};
  for (const std::int64_t number : fired) step.fired.push_back({minute(number), new_job()});
  return step;
}

SkippedTicks ScheduleConformance::skipping(WallTime first, WallTime last, const std::string& reason) {
  return {first, last, (last - first) / 1min + 1, reason};
}

StepRequest ScheduleConformance::stepping(const std::vector<TickStep>& steps) {
  return {.ns = "default", .steps = steps, .request = to_string(new_id()), .owner = "leader", .place = "host:1"};
}

std::string ScheduleConformance::tried(const TickStep& step) {
  const auto reply = store().step_ticks(stepping({step}));
  if (!reply) return std::string(to_string(reply.error().code));
  const Reason refused = reply->answers.at(0).refused;
  return refused == Reason::none ? "taken" : std::string(to_string(refused));
}

ScheduleRow ScheduleConformance::moved(const TickStep& step) {
  if (const std::string answer = tried(step); answer != "taken")
    throw std::runtime_error("a step of " + step.schedule + " was not taken: " + answer);
  return schedule(step.schedule);
}

ScheduleRow ScheduleConformance::schedule(const std::string& name, bool unfinished) {
  SchedulesRequest request;
  request.ns = "default";
  request.names = {name};
  request.unfinished = unfinished;
  const SchedulesReply reply = must(store().schedules(request));
  if (reply.schedules.size() != 1) throw std::runtime_error("there is no schedule " + name);
  return reply.schedules.front();
}

std::vector<TickRow> ScheduleConformance::ticks(const std::string& name) {
  TicksRequest request;
  request.ns = "default";
  request.schedule = name;
  request.limit = 1000;
  std::vector<TickRow> rows;
  do {
    const TicksReply reply = must(store().ticks(request));
    rows.insert(rows.end(), reply.ticks.begin(), reply.ticks.end());
    request.before = reply.next;
  } while (request.before);
  return rows;
}

std::vector<std::string> ScheduleConformance::history(const std::string& name) {
  std::vector<std::string> lines;
  for (const TickRow& row : ticks(name)) {
    const std::int64_t first = minute_of(row.tick);
    const std::int64_t last = minute_of(row.last);
    std::string line = std::to_string(first);
    if (last != first) line += "-" + std::to_string(last);
    line += " " + (row.fired() ? "fired" : row.reason);
    if (row.count != last - first + 1) line += " " + std::to_string(row.count);
    lines.insert(lines.begin(), line);
  }
  return lines;
}

namespace {

TEST_P(ScheduleConformance, AScheduleBeginsAtTheStoresClock) {
  set_wall(wall() + 17us);
  ChangeScheduleRequest put = changing(nothing(), ScheduleChange::put);
  put.spec = std::string("{\"\0\":\"\xc3\xa9\"}", 9) + std::string(kScheduleSpecBytesMax - 9, 'x');
  const ChangeScheduleReply reply = must(store().change_schedule(put));
  ScheduleRow expected = nothing();
  expected.spec = put.spec;
  expected.revision = expected.version = 1;
  expected.resolved_to = expected.counts_from = expected.created_at = expected.changed_at = wall();
  EXPECT_EQ(reply.schedule, expected);
  EXPECT_EQ(reply.now, wall());
  EXPECT_TRUE(reply.duplicates.empty());
  EXPECT_EQ(schedule(), expected);
}

TEST_P(ScheduleConformance, EachChangeHasANewRevisionAndAVersionOfTheNamespace) {
  ScheduleRow row = added_schedule();
  const ScheduleRow other = added_schedule("other");
  EXPECT_EQ(other.version, row.version + 1);
  set_minute(1);
  row = moved(step(row, 1));
  std::int64_t version = other.version;
  for (const ScheduleChange change : {ScheduleChange::put, ScheduleChange::pause, ScheduleChange::resume}) {
    const ScheduleRow after = changed(row, change);
    EXPECT_EQ(after.revision, row.revision + 1);
    EXPECT_EQ(after.version, ++version);
    EXPECT_EQ(after.changed_at, wall());
    EXPECT_EQ(after.created_at, row.created_at);
    EXPECT_EQ(schedule(), after);
    row = after;
  }
  set_minute(3);
  const ScheduleRow back = changed(rewinding(moved(step(row, 3)), 2));
  EXPECT_EQ(back.revision, row.revision + 1);
  EXPECT_EQ(back.version, ++version);
  const ScheduleRow gone = changed(back, ScheduleChange::remove);
  EXPECT_TRUE(gone.removed);
  EXPECT_EQ(gone.revision, back.revision + 1);
  EXPECT_EQ(gone.version, ++version);
  EXPECT_EQ(schedule("other"), other);
}

TEST_P(ScheduleConformance, AChangeRestsOnTheRevisionThatWasSeen) {
  const ScheduleRow row = added_schedule();
  EXPECT_EQ(tried(changing(nothing(), ScheduleChange::put)), "conflict") << "it is there";
  const ScheduleRow newer = changed(row, ScheduleChange::pause);
  set_minute(1);
  for (const ScheduleChange change :
       {ScheduleChange::put, ScheduleChange::pause, ScheduleChange::resume, ScheduleChange::remove})
    EXPECT_EQ(tried(changing(row, change)), "conflict");
  EXPECT_EQ(tried(rewinding(row, -1)), "conflict");
  EXPECT_EQ(tried(running(row)), "conflict");
  ScheduleRow never = row;
  never.name = "never";
  for (const ScheduleChange change :
       {ScheduleChange::put, ScheduleChange::pause, ScheduleChange::resume, ScheduleChange::remove})
    EXPECT_EQ(tried(changing(never, change)), "not_found");
  EXPECT_EQ(tried(rewinding(never, -1)), "not_found");
  EXPECT_EQ(tried(running(never)), "not_found");
  EXPECT_EQ(schedule(), newer);
  EXPECT_TRUE(everything().empty());
}

TEST_P(ScheduleConformance, AnEditCountsFromWhereTheAccountStands) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = moved(step(row, 3, {1}, {skipping(2, 3)}));
  ChangeScheduleRequest edit = changing(row, ScheduleChange::put);
  edit.spec = "another";
  row = changed(edit);
  EXPECT_EQ(row.spec, "another");
  EXPECT_EQ(row.resolved_to, minute(3));
  EXPECT_EQ(row.counts_from, minute(3));
  EXPECT_EQ(row.created_at, minute(0));
  EXPECT_EQ(history(), (std::vector<std::string>{"1 fired", "2-3 missed"})) << "ticks up to there stay as they are";
  edit = changing(row, ScheduleChange::put);
  edit.step = step(row, 5, {4, 5});
  row = changed(edit);
  EXPECT_EQ(row.resolved_to, minute(5));
  EXPECT_EQ(row.counts_from, minute(5)) << "the account of the old one goes first";
  EXPECT_EQ(everything().size(), 3u);
}

TEST_P(ScheduleConformance, S2_AnEditOfAnAccountAheadOfTheClockCountsFromTheClock) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  row = changed(moved(step(row, 2, {}, {skipping(1, 2)})), ScheduleChange::put);
  const StepRequest ahead = stepping({step(row, 9, {7, 9}, {skipping(3, 6, "cap"), skipping(8, 8)})});
  must(store().step_ticks(ahead));
  row = changed(schedule(), ScheduleChange::put);
  EXPECT_EQ(row.counts_from, minute(9)) << "the clock is there";
  set_minute(4);
  ChangeScheduleRequest edit = changing(row, ScheduleChange::put);
  edit.spec = "another";
  const ChangeScheduleReply reply = must(store().change_schedule(edit));
  EXPECT_TRUE(reply.duplicates.empty());
  row = reply.schedule;
  EXPECT_EQ(row.spec, "another");
  EXPECT_EQ(row.resolved_to, minute(4));
  EXPECT_EQ(row.counts_from, minute(4));
  EXPECT_EQ(row.fired_to, minute(9));
  EXPECT_EQ(row.created_at, minute(0));
  EXPECT_EQ(schedule(), row);
  EXPECT_EQ(history(), (std::vector<std::string>{"1-2 missed", "7 fired", "9 fired"}))
      << "as of one that is added again";
  EXPECT_EQ(changed(edit), row) << "a repeat";
  row = changed(row, ScheduleChange::pause);
  EXPECT_EQ(changed(edit), row) << "it moved the account last";
  EXPECT_EQ(must(store().step_ticks(ahead)).answers.at(0).refused, Reason::changed);
  set_minute(9);
  EXPECT_EQ(stepped(step(row, 9, {5, 7, 9}, {skipping(6, 6), skipping(8, 8)})).duplicates,
            (std::vector{minute(7), minute(9)}));
  EXPECT_EQ(history(),
            (std::vector<std::string>{"1-2 missed", "5 fired", "6 missed", "7 fired", "8 missed", "9 fired"}));
  EXPECT_EQ(everything().size(), 3u);
}

TEST_P(ScheduleConformance, TheFirstPauseStaysUntilItIsResumed) {
  ScheduleRow row = added_schedule();
  set_minute(1);
  ChangeScheduleRequest pause = changing(row, ScheduleChange::pause);
  pause.act = {"ben", "too \"loud\" \xc3\xa9"};
  row = changed(pause);
  EXPECT_EQ(row.paused, (SchedulePause{minute(1), "ben", "too \"loud\" \xc3\xa9"}));
  set_minute(2);
  pause = changing(row, ScheduleChange::pause);
  pause.step = step(row, 2, {2});
  EXPECT_EQ(changed(pause), row) << "nothing changes, and no step is taken";
  pause.step = step(row, 5, {5});
  EXPECT_EQ(changed(pause), row) << "nor looked at";
  EXPECT_EQ(changed(row, ScheduleChange::put).paused, row.paused) << "an edit leaves the pause";
  row = schedule();
  ChangeScheduleRequest resume = changing(row, ScheduleChange::resume);
  resume.step = step(row, 2, {}, {skipping(1, 2, "paused")});
  row = changed(resume);
  EXPECT_FALSE(row.paused);
  EXPECT_EQ(row.resolved_to, minute(2));
  EXPECT_EQ(history(), std::vector<std::string>{"1-2 paused"});
  set_minute(3);
  resume = changing(row, ScheduleChange::resume);
  resume.step = step(row, 3, {3});
  EXPECT_EQ(changed(resume), row);
  EXPECT_EQ(schedule(), row);
  EXPECT_TRUE(everything().empty());
}

TEST_P(ScheduleConformance, ARemovedScheduleIsGoneButForWhoAsksWhatChanged) {
  ScheduleRow row = added_schedule();
  set_minute(1);
  ChangeScheduleRequest remove = changing(row, ScheduleChange::remove);
  remove.step = step(row, 1, {1});
  row = changed(remove);
  EXPECT_TRUE(row.removed);
  EXPECT_EQ(row.resolved_to, minute(1));
  EXPECT_EQ(row.fired_to, minute(1));
  SchedulesRequest by_name;
  by_name.ns = "default";
  by_name.names = {"s"};
  EXPECT_TRUE(must(store().schedules(by_name)).schedules.empty());
  SchedulesRequest all;
  all.ns = "default";
  EXPECT_TRUE(must(store().schedules(all)).schedules.empty());
  all.changed_after = 0;
  EXPECT_EQ(must(store().schedules(all)).schedules, std::vector{row});
  EXPECT_EQ(tried(changing(row, ScheduleChange::remove)), "not_found");
  EXPECT_EQ(tried(changing(row, ScheduleChange::put)), "not_found");
  EXPECT_EQ(tried(running(row)), "not_found");
  EXPECT_EQ(history(), std::vector<std::string>{"1 fired"}) << "its history is remembered";
}

TEST_P(ScheduleConformance, S1_RemovedAndAddedAgainUnderOneNameItFiresNoTickTwice) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  row = moved(step(row, 3, {1, 3}, {skipping(2, 2)}));
  const ScheduleRow paused = changed(row, ScheduleChange::pause);
  const ScheduleRow gone = changed(paused, ScheduleChange::remove);
  set_minute(0);
  row = added_schedule();
  EXPECT_EQ(row.revision, gone.revision + 1) << "never the same again";
  EXPECT_EQ(row.resolved_to, minute(0));
  EXPECT_EQ(row.counts_from, minute(0));
  EXPECT_EQ(row.created_at, minute(0));
  EXPECT_EQ(row.fired_to, minute(3));
  EXPECT_FALSE(row.paused);
  EXPECT_FALSE(row.removed);
  EXPECT_EQ(history(), (std::vector<std::string>{"1 fired", "3 fired"}))
      << "what was skipped lies ahead, and is open again";
  set_minute(4);
  const StepAnswer answer = stepped(step(row, 4, {1, 2, 3, 4}));
  EXPECT_EQ(answer.duplicates, (std::vector{minute(1), minute(3)}));
  EXPECT_EQ(history(), (std::vector<std::string>{"1 fired", "2 fired", "3 fired", "4 fired"}));
  EXPECT_EQ(everything().size(), 4u);
}

TEST_P(ScheduleConformance, OfARemovedScheduleThatIsAddedAgainRangesThatEndAheadOfTheClockAreGone) {
  ScheduleRow row = added_schedule();
  set_minute(9);
  changed(moved(step(row, 9, {7}, {skipping(1, 2), skipping(3, 6, "cap"), skipping(8, 9)})), ScheduleChange::remove);
  set_minute(4);
  row = added_schedule();
  EXPECT_EQ(row.resolved_to, minute(4));
  EXPECT_EQ(row.created_at, minute(4));
  EXPECT_EQ(history(), (std::vector<std::string>{"1-2 missed", "7 fired"}))
      << "of the one that goes over it nobody could say what stays";
  set_minute(6);
  moved(step(row, 6, {5}, {skipping(6, 6)}));
  EXPECT_EQ(history(), (std::vector<std::string>{"1-2 missed", "5 fired", "6 missed", "7 fired"}));
}

TEST_P(ScheduleConformance, AChangeAndItsStepHappenTogetherOrNotAtAll) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  row = changed(rewinding(moved(step(row, 2, {1})), 0));
  const auto before = history();
  const auto entries = trail();
  const auto with = [&](const TickStep& step) {
    ChangeScheduleRequest request = changing(row, ScheduleChange::pause);
    request.step = step;
    return request;
  };
  EXPECT_EQ(tried(with(step(row, 4, {2}))), "refused") << "early";
  TickStep elsewhere = step(row, 3, {2});
  elsewhere.from = minute(1);
  EXPECT_EQ(tried(with(elsewhere)), "conflict");
  EXPECT_EQ(tried(with(step(row, 3, {3}, {skipping(1, 2)}))), "conflict") << "it covers a tick that fired";
  TickStep there = step(row, 3, {2, 3});
  there.fired[1].job.id = added(new_job());
  EXPECT_EQ(tried(with(there)), "conflict");
  EXPECT_EQ(schedule(), row);
  EXPECT_EQ(history(), before);
  EXPECT_EQ(trail(), entries);
  EXPECT_EQ(everything().size(), 2u);
  const ChangeScheduleReply reply = must(store().change_schedule(with(step(row, 3, {1, 2, 3}))));
  EXPECT_EQ(reply.duplicates, std::vector{minute(1)});
  EXPECT_TRUE(reply.schedule.paused);
  EXPECT_EQ(reply.schedule.resolved_to, minute(3));
  EXPECT_EQ(reply.schedule.fired_to, minute(3));
  EXPECT_EQ(ticks().front().owner, "person");
  EXPECT_EQ(ticks().front().place, "desk:1");
  EXPECT_EQ(everything().size(), 4u);
}

TEST_P(ScheduleConformance, ARunEnqueuesAJobBesideAllTicks) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  const ChangeScheduleRequest run = running(row);
  EXPECT_EQ(changed(run), row);
  EXPECT_EQ(schedule(), row);
  EXPECT_TRUE(history().empty());
  EXPECT_EQ(claimable_ids(), std::vector{run.job->id});
  ChangeScheduleRequest there = running(row);
  there.job->id = run.job->id;
  EXPECT_EQ(tried(there), "conflict");
  EXPECT_EQ(tried(step(row, 1, {1})), "taken") << "who decided before the run may go on";
}

TEST_P(ScheduleConformance, EachChangeStandsInTheTrail) {
  ScheduleRow row = added_schedule();
  set_wall(minute(2) + 1500ms);
  row = changed(row, ScheduleChange::put);
  row = changed(row, ScheduleChange::pause);
  row = changed(row, ScheduleChange::resume);
  row = changed(rewinding(moved(step(row, 2)), 1));
  const ChangeScheduleRequest run = running(row);
  changed(run);
  row = changed(row, ScheduleChange::remove);
  added_schedule();
  std::vector<std::string> acts;
  for (const TrailEntry& entry : trail()) {
    acts.push_back(entry.act + ": " + entry.subject);
    EXPECT_EQ(entry.actor, kAct.actor);
    EXPECT_EQ(entry.reason, kAct.reason);
    EXPECT_EQ(entry.at, acts.size() == 1 ? minute(0) : wall());
  }
  EXPECT_EQ(acts, (std::vector<std::string>{"schedule_added: s", "schedule_changed: s", "schedule_paused: s",
                                            "schedule_resumed: s", "schedule_rewound: s " + utc_text(minute(1)),
                                            "schedule_run: s " + to_string(run.job->id), "schedule_removed: s",
                                            "schedule_added: s"}));
}

TEST_P(ScheduleConformance, WhatChangesNothingLeavesNoEntryInTheTrail) {
  ScheduleRow row = added_schedule();
  const ChangeScheduleRequest pause = changing(row, ScheduleChange::pause);
  changed(row, ScheduleChange::resume);
  row = changed(pause);
  const auto entries = trail();
  set_minute(1);
  changed(pause);
  changed(row, ScheduleChange::pause);
  EXPECT_EQ(tried(changing(nothing(), ScheduleChange::put)), "conflict");
  EXPECT_EQ(tried(step(row, 1)), "taken");
  EXPECT_EQ(trail(), entries);
  EXPECT_EQ(entries.size(), 2u);
}

TEST_P(ScheduleConformance, WhoWatchesOrdersIsToldOfEachChange) {
  ScheduleRow row = nothing();
  minute(0);
  set_minute(2);
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {}, .stage = "", .orders = true}, [&] { ++told; });
  for (const ScheduleChange change : {ScheduleChange::put, ScheduleChange::put, ScheduleChange::pause,
                                      ScheduleChange::resume, ScheduleChange::remove}) {
    const int before = told;
    row = changed(row, change);
    EXPECT_TRUE(comes_about([&] { return told > before; })) << static_cast<int>(change);
  }
  row = added_schedule();
  set_minute(4);
  row = moved(step(row, 4));
  const int before = told;
  changed(rewinding(row, 3));
  EXPECT_TRUE(comes_about([&] { return told > before; }));
}

TEST_P(ScheduleConformance, WhoWaitsForJobsOfTheQueueIsToldOfARunAndOfAChangeThatFires) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {"q"}, .stage = ""}, [&] { ++told; });
  changed(running(row));
  EXPECT_TRUE(comes_about([&] { return told > 0; }));
  const int before = told;
  ChangeScheduleRequest remove = changing(row, ScheduleChange::remove);
  remove.step = step(row, 1, {1});
  changed(remove);
  EXPECT_TRUE(comes_about([&] { return told > before; }));
}

TEST_P(ScheduleConformance, ARepeatOfTheLastChangeIsAnsweredAsTheFirstAndChangesNothing) {
  ScheduleRow row = nothing();
  minute(0);
  const auto repeats = [&](const ChangeScheduleRequest& request) {
    const ChangeScheduleReply first = must(store().change_schedule(request));
    const auto entries = trail();
    const auto jobs = everything();
    let_time_pass(1s);
    const ChangeScheduleReply again = must(store().change_schedule(request));
    EXPECT_EQ(again.schedule, first.schedule);
    EXPECT_EQ(again.duplicates, first.duplicates);
    EXPECT_EQ(again.now, wall());
    EXPECT_EQ(trail(), entries);
    EXPECT_EQ(everything(), jobs);
    row = first.schedule;
  };
  repeats(changing(row, ScheduleChange::put));
  set_minute(3);
  row = changed(rewinding(moved(step(row, 2, {1, 2})), 0));
  ChangeScheduleRequest edit = changing(row, ScheduleChange::put);
  edit.step = step(row, 3, {1, 2, 3});
  repeats(edit);
  repeats(changing(row, ScheduleChange::pause));
  repeats(changing(row, ScheduleChange::resume));
  repeats(running(row));
  set_minute(5);
  row = moved(step(row, 5, {4}));
  repeats(rewinding(row, 4));
  repeats(changing(row, ScheduleChange::remove));
}

TEST_P(ScheduleConformance, ARepeatIsKnownAfterAStepAndAfterAChangeThatMovedNothing) {
  ScheduleRow row = added_schedule();
  set_minute(4);
  row = changed(rewinding(moved(step(row, 2, {1})), 0));
  ChangeScheduleRequest edit = changing(row, ScheduleChange::put);
  edit.step = step(row, 2, {1, 2});
  const ChangeScheduleReply first = must(store().change_schedule(edit));
  EXPECT_EQ(first.duplicates, std::vector{minute(1)});
  row = moved(step(first.schedule, 3, {3}));
  ChangeScheduleReply again = must(store().change_schedule(edit));
  EXPECT_EQ(again.duplicates, first.duplicates) << "it changed the schedule last";
  EXPECT_EQ(again.schedule, row) << "as it is now";
  edit = changing(row, ScheduleChange::put);
  edit.step = step(row, 4, {4});
  row = changed(edit);
  row = changed(row, ScheduleChange::pause);
  again = must(store().change_schedule(edit));
  EXPECT_EQ(again.schedule, row) << "it moved the account last";
}

TEST_P(ScheduleConformance, AChangeThatOthersFollowedIsNotKnownAnyMore) {
  ScheduleRow row = added_schedule();
  const ChangeScheduleRequest pause = changing(row, ScheduleChange::pause);
  row = changed(changed(pause), ScheduleChange::resume);
  EXPECT_EQ(tried(pause), "conflict");
  EXPECT_EQ(schedule(), row);
}

TEST_P(ScheduleConformance, AMalformedChangeIsInvalidAndChangesNothing) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = moved(step(row, 4));
  const auto entries = trail();
  const auto is_invalid = [&](ChangeScheduleRequest request, const std::function<void(ChangeScheduleRequest&)>& spoil) {
    spoil(request);
    return code_of(store().change_schedule(request)) == Code::invalid;
  };
  const ChangeScheduleRequest put = changing(row, ScheduleChange::put);
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.ns = ""; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.name = "a b"; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.revision = -1; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.spec = ""; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.spec = "\xff"; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.spec = std::string(kScheduleSpecBytesMax + 1, 'x'); }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.request = ""; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.owner = std::string(129, 'x'); }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.place = "\xff"; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.act.actor = ""; }));
  EXPECT_TRUE(is_invalid(put, [](auto& bad) { bad.act.reason = "\xff"; }));
  EXPECT_TRUE(is_invalid(put, [&](auto& bad) { bad.job = new_job(); }));
  EXPECT_TRUE(is_invalid(put, [&](auto& bad) { bad.step = step(nothing("other"), 5); }));
  EXPECT_TRUE(is_invalid(put, [&](auto& bad) {
    bad.step = step(row, 5);
    bad.revision += 1;
  }));
  EXPECT_TRUE(is_invalid(put, [&](auto& bad) {
    bad.step = step(row, 5, {5});
    bad.step->fired[0].tick += 1s;
  }));
  EXPECT_TRUE(is_invalid(put, [&](auto& bad) {
    bad.step = step(row, 5, {5, 5});
    bad.step->fired[0].tick -= 1s;
    bad.step->fired[1].job.id = bad.step->fired[0].job.id;
  })) << "a job twice";
  EXPECT_TRUE(is_invalid(changing(nothing("new"), ScheduleChange::put),
                         [&](auto& bad) { bad.step = step(nothing("new"), 5); }));
  for (const ScheduleChange change : {ScheduleChange::pause, ScheduleChange::resume, ScheduleChange::remove,
                                      ScheduleChange::rewind, ScheduleChange::run})
    EXPECT_TRUE(is_invalid(changing(nothing(), change), [](auto&) {})) << "no revision";
  EXPECT_TRUE(is_invalid(changing(row, ScheduleChange::pause), [](auto& bad) { bad.spec = "x"; }));
  const ChangeScheduleRequest rewind = rewinding(row, 1);
  EXPECT_TRUE(is_invalid(rewind, [&](auto& bad) { bad.step = step(row, 5); }));
  EXPECT_TRUE(is_invalid(rewind, [](auto& bad) { bad.to = bad.from; }));
  EXPECT_TRUE(is_invalid(rewind, [](auto& bad) { bad.to = WallTime{} - 1s; }));
  EXPECT_TRUE(is_invalid(rewind, [&](auto& bad) { bad.kept = skipping(1, 2); })) << "it goes beyond the moment";
  const ChangeScheduleRequest run = running(row);
  EXPECT_TRUE(is_invalid(run, [](auto& bad) { bad.job.reset(); }));
  EXPECT_TRUE(is_invalid(run, [](auto& bad) { bad.job->key = "k"; }));
  EXPECT_TRUE(is_invalid(run, [&](auto& bad) { bad.step = step(row, 5); }));
  EXPECT_EQ(schedule(), row);
  EXPECT_EQ(trail(), entries);
  EXPECT_TRUE(everything().empty());
}

}  // namespace
}  // namespace fenceline::test
