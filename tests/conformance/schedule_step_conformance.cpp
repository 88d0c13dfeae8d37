// What every store promises about the steps by which the accounts of schedules move on: a tick fires at most once,
// whoever leads (S1), never before its time (S3), and with its job.
#include <atomic>
#include <functional>
#include <thread>

#include "conformance/conformance.hpp"
#include "support/comes_about.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kFarAhead = std::chrono::sys_days{std::chrono::year{2199} / 12 / 1};

TEST_P(ScheduleConformance, S1_OfThreeWhoAllLeadOneMovesTheAccount) {
  const ScheduleRow row = added_schedule();
  set_minute(2);
  std::vector<Reason> answers;
  for (int leader = 0; leader < 3; ++leader) {
    const StepAnswer answer = stepped(step(row, 2, {1, 2}));
    answers.push_back(answer.refused);
    EXPECT_EQ(answer.resolved_to, minute(2));
    EXPECT_EQ(answer.fired_to, minute(2));
    EXPECT_EQ(answer.revision, row.revision);
    EXPECT_TRUE(answer.duplicates.empty());
  }
  EXPECT_EQ(answers, (std::vector<Reason>{Reason::none, Reason::moved, Reason::moved}));
  EXPECT_EQ(history(), (std::vector<std::string>{"1 fired", "2 fired"}));
  EXPECT_EQ(everything().size(), 2u);
}

TEST_P(ScheduleConformance, S1_ThreeWhoLeadAtOnceFireEachTickOnce) {
  constexpr std::int64_t kTicks = 20;
  added_schedule();
  set_minute(kTicks);
  std::atomic<int> taken = 0;
  const auto lead = [&](std::uint64_t leader) {
    SchedulesRequest look;
    look.ns = "default";
    look.names = {"s"};
    for (std::uint64_t number = 0;; ++number) {
      const ScheduleRow row = must(store().schedules(look)).schedules.at(0);
      if (row.resolved_to == minute(kTicks)) return;
      TickStep next{.schedule = "s",
                    .revision = row.revision,
                    .from = row.resolved_to,
                    .to = row.resolved_to + 1min,
                    .fired = {},
                    .skipped = {}};
      next.fired.push_back({next.to, {.id = make_uuid7(WallTime{}, leader, number), .queue = "q"}});
      const StepRequest request{.ns = "default",
                                .steps = {next},
                                .request = std::to_string(leader) + "-" + std::to_string(number),
                                .owner = std::to_string(leader),
                                .place = ""};
      const StepAnswer answer = must(store().step_ticks(request)).answers.at(0);
      EXPECT_TRUE(answer.refused == Reason::none || answer.refused == Reason::moved) << answer.refused;
      if (answer.refused == Reason::none) ++taken;
      EXPECT_TRUE(answer.duplicates.empty());
    }
  };
  {
    std::vector<std::jthread> leaders;
    for (std::uint64_t leader = 1; leader <= 3; ++leader) leaders.emplace_back(lead, leader);
  }
  EXPECT_EQ(taken, kTicks);
  EXPECT_EQ(history().size(), static_cast<std::size_t>(kTicks));
  EXPECT_EQ(everything().size(), static_cast<std::size_t>(kTicks));
}

TEST_P(ScheduleConformance, S1_ATickThatFiredDoesNotFireAgainAfterARewind) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = moved(step(row, 2, {1, 2}));
  row = changed(rewinding(row, 0));
  const StepAnswer answer = stepped(step(row, 3, {1, 2, 3}));
  EXPECT_EQ(answer.refused, Reason::none);
  EXPECT_EQ(answer.duplicates, (std::vector{minute(1), minute(2)}));
  EXPECT_EQ(answer.resolved_to, minute(3));
  const StepAnswer refused = stepped(step(row, 3, {1, 2, 3}));
  EXPECT_EQ(refused.refused, Reason::moved);
  EXPECT_TRUE(refused.duplicates.empty()) << "of a step that was taken";
  EXPECT_EQ(history(), (std::vector<std::string>{"1 fired", "2 fired", "3 fired"}));
  EXPECT_EQ(everything().size(), 3u);
}

TEST_P(ScheduleConformance, S3_NoTickFiresBeforeItsInstantOnTheStoresClock) {
  const ScheduleRow row = added_schedule();
  set_wall(minute(1) - kMoment);
  EXPECT_EQ(tried(step(row, 1, {1})), "early");
  EXPECT_EQ(tried(step(row, 1)), "early") << "an account without ticks does not go there either";
  EXPECT_TRUE(everything().empty());
  EXPECT_TRUE(history().empty());
  set_minute(1);
  EXPECT_EQ(tried(step(row, 1, {1})), "taken");
}

TEST_P(ScheduleConformance, S3_AClockThatWasFarAheadLeavesFiredTicksAndOpensSkippedOnesAgain) {
  ScheduleRow row = added_schedule();
  set_wall(kFarAhead);
  TickStep ahead = step(row, 1, {1}, {skipping(minute(2), kFarAhead - 60s, "window")});
  ahead.fired.push_back({kFarAhead, new_job()});
  ahead.to = kFarAhead;
  row = moved(ahead);
  EXPECT_EQ(row.fired_to, kFarAhead);
  set_minute(5);
  EXPECT_EQ(tried(step(row, 5, {5})), "invalid") << "it stands ahead of the clock";
  ChangeScheduleRequest back = rewinding(row, 5);
  back.kept = skipping(2, 5, "window");
  row = changed(back);
  EXPECT_EQ(row.resolved_to, minute(5));
  EXPECT_EQ(row.fired_to, kFarAhead);
  set_minute(6);
  row = moved(step(row, 6, {6}));
  EXPECT_EQ(history(), (std::vector<std::string>{"1 fired", "2-5 window", "6 fired",
                                                 std::to_string(minute_of(kFarAhead)) + " fired"}));
  set_wall(kFarAhead);
  TickStep again = step(row, 7);
  again.fired.push_back({kFarAhead, new_job()});
  again.to = kFarAhead;
  EXPECT_EQ(stepped(again).duplicates, std::vector{kFarAhead});
  EXPECT_EQ(everything().size(), 3u);
}

TEST_P(ScheduleConformance, WhyAStepWasNotTakenIsLookedForInOrder) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  row = moved(step(row, 3, {2}));
  row = changed(rewinding(row, 1));
  TickStep wrong = step(row, 4, {}, {skipping(2, 4)});
  EXPECT_EQ(tried(wrong), "early");
  wrong.from = minute(0);
  EXPECT_EQ(tried(wrong), "moved");
  wrong.revision += 1;
  EXPECT_EQ(tried(wrong), "changed");
  wrong.schedule = "never";
  EXPECT_EQ(tried(wrong), "not_found");
  EXPECT_EQ(tried(step(row, 3, {}, {skipping(2, 3)})), "covers");
  EXPECT_EQ(tried(step(row, 3, {}, {skipping(3, 3)})), "taken");
}

TEST_P(ScheduleConformance, ARangeThatGoesOverATickThatFiredIsRefusedWhereverTheTickLies) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = changed(rewinding(moved(step(row, 5, {3})), 0));
  for (const SkippedTicks& range : {skipping(3, 5), skipping(1, 3), skipping(2, 4), skipping(3, 3)})
    EXPECT_EQ(tried(step(row, 5, {}, {range})), "covers");
  EXPECT_EQ(tried(step(row, 5, {}, {skipping(1, 1), skipping(2, 4)})), "covers") << "each of them is looked at";
  EXPECT_EQ(history(), std::vector<std::string>{"3 fired"});
  EXPECT_EQ(tried(step(row, 5, {}, {skipping(1, 2), skipping(4, 5)})), "taken");
}

TEST_P(ScheduleConformance, ARefusedStepSaysHowTheScheduleStands) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  row = moved(step(row, 2, {1}));
  TickStep wrong = step(row, 3);
  wrong.revision += 1;
  EXPECT_EQ(stepped(wrong), (StepAnswer{.refused = Reason::changed,
                                        .duplicates = {},
                                        .revision = row.revision,
                                        .resolved_to = minute(2),
                                        .fired_to = minute(1)}));
  wrong.schedule = "never";
  EXPECT_EQ(stepped(wrong), (StepAnswer{.refused = Reason::not_found, .duplicates = {}}));
  changed(row, ScheduleChange::remove);
  EXPECT_EQ(stepped(step(row, 3)), (StepAnswer{.refused = Reason::not_found, .duplicates = {}}));
}

TEST_P(ScheduleConformance, NothingOfARefusedStepHappens) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = moved(step(row, 2, {1}));
  row = changed(rewinding(row, 0));
  const auto before = history();
  for (const TickStep& wrong : {step(row, 6, {2}, {skipping(3, 4)}), step(row, 5, {4}, {skipping(1, 3)})}) {
    EXPECT_NE(tried(wrong), "taken");
    EXPECT_EQ(history(), before);
    EXPECT_EQ(schedule(), row);
    EXPECT_EQ(everything().size(), 1u);
  }
}

TEST_P(ScheduleConformance, OfSeveralStepsEachIsTakenOrRefusedByItself) {
  const ScheduleRow first = added_schedule("a");
  const ScheduleRow second = added_schedule("b");
  const ScheduleRow third = added_schedule("c");
  set_minute(1);
  moved(step(second, 1));
  TickStep never_there = step(first, 1);
  never_there.schedule = "d";
  const StepReply reply =
      must(store().step_ticks(stepping({step(third, 1, {1}), step(second, 1, {1}), step(first, 1, {1}), never_there})));
  std::vector<Reason> reasons;
  for (const StepAnswer& answer : reply.answers) reasons.push_back(answer.refused);
  EXPECT_EQ(reasons, (std::vector<Reason>{Reason::none, Reason::moved, Reason::none, Reason::not_found}));
  EXPECT_EQ(reply.now, minute(1));
  EXPECT_EQ(history("a"), std::vector<std::string>{"1 fired"});
  EXPECT_EQ(history("b"), std::vector<std::string>{});
  EXPECT_EQ(history("c"), std::vector<std::string>{"1 fired"});
  EXPECT_EQ(everything().size(), 2u);
}

TEST_P(ScheduleConformance, ManyStepsAreOneCall) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  std::vector<TickStep> steps{step(row, 1, {1})};
  for (int i = 1; i < kSchedulesAtOnceMax; ++i) {
    steps.push_back(step(row, 1));
    steps.back().schedule = "never-" + std::to_string(i);
  }
  const StepReply reply = must(store().step_ticks(stepping(steps)));
  ASSERT_EQ(reply.answers.size(), steps.size());
  EXPECT_EQ(reply.answers.front().refused, Reason::none);
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(reply.answers[i].refused, Reason::not_found);
  steps.push_back(steps.back());
  steps.back().schedule = "one-too-many";
  EXPECT_EQ(code_of(store().step_ticks(stepping(steps))), Code::invalid);
}

TEST_P(ScheduleConformance, AStepWithoutTicksMovesTheAccount) {
  const ScheduleRow row = added_schedule();
  set_minute(3);
  EXPECT_EQ(moved(step(row, 3)).resolved_to, minute(3));
  EXPECT_TRUE(history().empty());
}

TEST_P(ScheduleConformance, AStepChangesNeitherRevisionNorVersion) {
  const ScheduleRow row = added_schedule();
  set_minute(3);
  ScheduleRow after = moved(step(row, 3, {1}));
  EXPECT_EQ(after.resolved_to, minute(3));
  EXPECT_EQ(after.fired_to, minute(1));
  after.resolved_to = row.resolved_to;
  after.fired_to = row.fired_to;
  EXPECT_EQ(after, row);
}

TEST_P(ScheduleConformance, TheJobOfATickIsEnqueuedAsByEnqueue) {
  const ScheduleRow row = added_schedule();
  set_minute(2);
  TickStep fires = step(row, 2, {1, 2});
  NewJob& full = fires.fired[0].job;
  full.stage = "st";
  full.payload = "{\"tick\":\"\\u00e9 \xc3\xa9\"}";
  full.priority = 3;
  full.at = minute(4);
  full.attempts_max = 2;
  full.backoff = {3s, 9s};
  full.timeout = 7s;
  full.group = "g";
  full.limit_key = "k";
  full.tags = {"a", "schedule:s"};
  full.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  NewJob& past = fires.fired[1].job;
  past.at = minute(1);
  NewJob plain = full;
  plain.id = new_id();
  added(plain);
  moved(fires);
  Job job = look(full.id);
  EXPECT_EQ(job.run_at, minute(4));
  job.id = plain.id;
  EXPECT_EQ(job, look(plain.id));
  EXPECT_EQ(look(past.id).run_at, minute(2)) << "a run time that is past is now";
  EXPECT_EQ(claimed_by("a").job.id, past.id);
  EXPECT_EQ(must(store().jobs({.ns = "default", .tag = "schedule:s"})).jobs.size(), 2u);
}

TEST_P(ScheduleConformance, JobsComeInTheOrderOfStepsAndTicks) {
  const ScheduleRow first = added_schedule("a");
  const ScheduleRow second = added_schedule("b");
  set_minute(2);
  const StepRequest request = stepping({step(second, 2, {1, 2}), step(first, 2, {1})});
  must(store().step_ticks(request));
  EXPECT_EQ(claimable_ids(), (std::vector{request.steps[0].fired[0].job.id, request.steps[0].fired[1].job.id,
                                          request.steps[1].fired[0].job.id}));
}

TEST_P(ScheduleConformance, ATickSaysItsJobAndWhoFiredItWhereAndWhen) {
  const ScheduleRow row = added_schedule();
  set_wall(minute(3) + 5s);
  StepRequest request = stepping({step(row, 3, {1}, {skipping(2, 3)})});
  request.owner = "leader";
  request.place = "höst:17";
  must(store().step_ticks(request));
  const std::vector<TickRow> rows = ticks();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], (TickRow{.tick = minute(2),
                              .last = minute(3),
                              .count = 2,
                              .reason = "missed",
                              .job = {},
                              .at = minute(3) + 5s,
                              .owner = "leader",
                              .place = "höst:17"}));
  EXPECT_EQ(rows[1], (TickRow{.tick = minute(1),
                              .last = minute(1),
                              .count = 1,
                              .reason = "",
                              .job = request.steps[0].fired[0].job.id,
                              .at = minute(3) + 5s,
                              .owner = "leader",
                              .place = "höst:17"}));
}

TEST_P(ScheduleConformance, WhoWaitsForJobsOfTheQueueIsToldOfATick) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {"q"}, .stage = ""}, [&] { ++told; });
  moved(step(row, 1, {1}));
  EXPECT_TRUE(comes_about([&] { return told > 0; }));
}

TEST_P(ScheduleConformance, S1_AJobWhoseIdIsThereIsAConflictAndNothingOfTheRequestHappens) {
  const ScheduleRow first = added_schedule("a");
  const ScheduleRow second = added_schedule("b");
  set_minute(2);
  const JobId there = added(new_job());
  StepRequest request = stepping({step(first, 2, {1}, {skipping(2, 2)}), step(second, 2, {1, 2})});
  request.steps[1].fired[1].job.id = there;
  EXPECT_EQ(code_of(store().step_ticks(request)), Code::conflict);
  EXPECT_EQ(schedule("a"), first);
  EXPECT_EQ(schedule("b"), second);
  EXPECT_TRUE(history("a").empty());
  EXPECT_TRUE(history("b").empty());
  EXPECT_EQ(ids_of(everything()), std::vector{there});
  request.steps[1].fired[1].job.id = new_id();
  EXPECT_EQ(must(store().step_ticks(request)).answers.at(1).refused, Reason::none) << "the request left nothing behind";
}

TEST_P(ScheduleConformance, AnIdThatStandsForAnotherJobIsThereAlready) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  NewJob first = new_job();
  first.key = "k";
  added(first);
  NewJob second = first;
  second.id = new_id();
  added(second);
  TickStep fires = step(row, 1, {1});
  fires.fired[0].job.id = second.id;
  EXPECT_EQ(tried(fires), "conflict");
  ChangeScheduleRequest run = running(row);
  run.job->id = second.id;
  EXPECT_EQ(tried(run), "conflict");
  EXPECT_EQ(schedule(), row);
  EXPECT_EQ(ids_of(everything()), std::vector{first.id});
}

TEST_P(ScheduleConformance, AJobThatWouldNotBeAddedIsNoConflict) {
  ScheduleRow row = added_schedule();
  set_minute(2);
  const TickStep fires = step(row, 1, {1});
  row = changed(rewinding(moved(fires), 0));
  EXPECT_EQ(tried(fires), "changed");
  TickStep again = step(row, 1, {1});
  again.fired[0].job.id = fires.fired[0].job.id;
  EXPECT_EQ(stepped(again).duplicates, std::vector{minute(1)});
  EXPECT_EQ(everything().size(), 1u);
}

TEST_P(ScheduleConformance, S1_ARepeatOfAStepIsAnsweredAsTheFirstAndChangesNothing) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  row = changed(rewinding(moved(step(row, 2, {2})), 0));
  const StepRequest request = stepping({step(row, 5, {1, 2}, {skipping(3, 5)})});
  const StepAnswer first = must(store().step_ticks(request)).answers.at(0);
  EXPECT_EQ(first.duplicates, std::vector{minute(2)});
  const auto seen = ticks();
  let_time_pass(1s);
  const StepReply again = must(store().step_ticks(request));
  EXPECT_EQ(again.answers, std::vector{first});
  EXPECT_EQ(again.now, wall());
  EXPECT_EQ(ticks(), seen);
  EXPECT_EQ(everything().size(), 2u);
}

TEST_P(ScheduleConformance, ARepeatIsKnownThoughTheScheduleWasChangedOrRemovedSince) {
  ScheduleRow row = added_schedule();
  set_minute(2);
  const StepRequest request = stepping({step(row, 2, {1})});
  EXPECT_EQ(must(store().step_ticks(request)).answers.at(0).refused, Reason::none);
  row = changed(row, ScheduleChange::pause);
  StepAnswer again = must(store().step_ticks(request)).answers.at(0);
  EXPECT_EQ(again.refused, Reason::none);
  EXPECT_EQ(again.revision, row.revision) << "as it is now";
  row = changed(row, ScheduleChange::remove);
  again = must(store().step_ticks(request)).answers.at(0);
  EXPECT_EQ(again.refused, Reason::none);
  EXPECT_EQ(again.resolved_to, minute(2));
  EXPECT_EQ(everything().size(), 1u);
}

TEST_P(ScheduleConformance, AStepAfterWhichAnotherMovedTheAccountIsNotKnownAnyMore) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  const StepRequest request = stepping({step(row, 1, {1})});
  must(store().step_ticks(request));
  row = moved(step(schedule(), 2, {2}));
  EXPECT_EQ(must(store().step_ticks(request)).answers.at(0).refused, Reason::moved);
  changed(rewinding(row, 0));
  EXPECT_EQ(must(store().step_ticks(request)).answers.at(0).refused, Reason::changed);
  EXPECT_EQ(everything().size(), 2u);
}

TEST_P(ScheduleConformance, OfARepeatWhatWasRefusedIsLookedAtAnew) {
  const ScheduleRow first = added_schedule("a");
  const ScheduleRow second = added_schedule("b");
  set_minute(1);
  const StepRequest request = stepping({step(first, 1, {1}), step(second, 2, {2})});
  EXPECT_EQ(must(store().step_ticks(request)).answers.at(1).refused, Reason::early);
  set_minute(2);
  const StepReply again = must(store().step_ticks(request));
  EXPECT_EQ(again.answers.at(0).refused, Reason::none);
  EXPECT_EQ(again.answers.at(1).refused, Reason::none);
  EXPECT_EQ(everything().size(), 2u);
}

TEST_P(ScheduleConformance, NamespacesHaveTheirOwnSchedules) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  StepRequest elsewhere = stepping({step(row, 1, {1})});
  elsewhere.ns = "other";
  EXPECT_EQ(must(store().step_ticks(elsewhere)).answers.at(0).refused, Reason::not_found);
  ChangeScheduleRequest put = changing(nothing(), ScheduleChange::put);
  put.ns = "other";
  must(store().change_schedule(put));
  EXPECT_EQ(tried(step(row, 1, {1})), "taken");
  EXPECT_TRUE(must(store().ticks({.ns = "other", .schedule = "s"})).ticks.empty());
  EXPECT_TRUE(everything("other").empty());
}

TEST_P(ScheduleConformance, S1_TheTicksThatFiredOutliveTheProcess) {
  ScheduleRow row = added_schedule();
  set_minute(4);
  row = moved(step(row, 3, {1}, {skipping(2, 3)}));
  const auto rows = ticks();
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(schedule(), row);
  EXPECT_EQ(ticks(), rows);
  row = changed(rewinding(row, 0));
  EXPECT_EQ(stepped(step(row, 1, {1})).duplicates, std::vector{minute(1)});
}

TEST_P(ScheduleConformance, AMalformedStepIsInvalidAndChangesNothing) {
  const ScheduleRow row = added_schedule();
  const TickStep other = step(added_schedule("b"), 1, {1});
  set_minute(9);
  const StepRequest good = stepping({step(row, 5, {1, 5}, {skipping(2, 3), skipping(4, 4, "cap")})});
  const auto is_invalid = [&](const std::function<void(StepRequest&)>& spoil) {
    StepRequest bad = good;
    spoil(bad);
    return code_of(store().step_ticks(bad)) == Code::invalid;
  };
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.ns = "a b"; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.request = ""; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.owner = ""; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.place = "\xff"; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.place = std::string(257, 'x'); }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps.clear(); }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].schedule = "a b"; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].revision = 0; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].to = bad.steps[0].from; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].to = kRunAtMost + kMoment; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[0].tick = bad.steps[0].from; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[1].tick = bad.steps[0].to + kMoment; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { std::swap(bad.steps[0].fired[0], bad.steps[0].fired[1]); }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[1].tick = bad.steps[0].fired[0].tick; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[0].tick = bad.steps[0].skipped[0].first; }))
      << "it both fires and is skipped";
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[0].job.key = "k"; })) << "no unique key";
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[0].job.payload = "{"; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].fired[0].job.id = bad.steps[0].fired[1].job.id; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { std::swap(bad.steps[0].skipped[0], bad.steps[0].skipped[1]); }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].skipped[0].last = bad.steps[0].skipped[1].first; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].skipped[0].count = 1; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].skipped[1].count = 2; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].skipped[0].first = bad.steps[0].from; }));
  EXPECT_TRUE(is_invalid([](StepRequest& bad) { bad.steps[0].skipped[0].reason = ""; }));
  EXPECT_TRUE(is_invalid([&](StepRequest& bad) {
    bad.steps = {bad.steps[0], other, step(row, 1)};
  })) << "a schedule twice";
  EXPECT_EQ(schedule(), row);
  EXPECT_TRUE(history().empty());
  EXPECT_TRUE(everything().empty());
  EXPECT_EQ(must(store().step_ticks(good)).answers.at(0).refused, Reason::none);
}

}  // namespace
}  // namespace fenceline::test
