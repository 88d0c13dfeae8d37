// What schedules promise on a file: over a death, a reopening and a boot, with several who all believe they lead; and
// that what a verb costs does not grow with what happened before.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <set>

#include "backends/sqlite/child_testing.hpp"
#include "backends/sqlite/stepped_testing.hpp"
#include "backends/sqlite/testing.hpp"
#include "base/crash_point.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

ChangeScheduleRequest putting(const std::string& name, std::int64_t revision = 0) {
  return {.ns = "default",
          .name = name,
          .revision = revision,
          .spec = "a spec",
          .request = "put-" + name + std::to_string(revision),
          .owner = "ada",
          .act = {.actor = "ada"}};
}

// So many ticks a second apart, from where the account stands.
TickStep firing(const ScheduleRow& row, int ticks, std::uint64_t first_job) {
  TickStep step{
      .schedule = row.name, .revision = row.revision, .from = row.resolved_to, .to = row.resolved_to + ticks * 1s};
  for (int i = 1; i <= ticks; ++i) {
    NewJob job{.id = job_id(first_job++), .queue = "q"};
    job.tags = {"schedule:" + row.name};
    step.fired.push_back({row.resolved_to + i * 1s, std::move(job)});
  }
  return step;
}

TickStep skipping(const ScheduleRow& row, const std::string& reason) {
  const WallTime tick = row.resolved_to + 1s;
  return {.schedule = row.name,
          .revision = row.revision,
          .from = row.resolved_to,
          .to = tick,
          .fired = {},
          .skipped = {{tick, tick, 1, reason}}};
}

StepRequest stepping(std::vector<TickStep> steps, const std::string& request, const std::string& owner = "node-a") {
  return {.ns = "default", .steps = std::move(steps), .request = request, .owner = owner, .place = "host:1"};
}

ScheduleRow row_of(Store& store, const std::string& name = "s") {
  return must(store.schedules({.ns = "default", .names = {name}})).schedules.at(0);
}

class SqliteSchedules : public SqliteFile {
 protected:
  std::vector<TickRow> ticks(Store& store) {
    return must(store.ticks({.ns = "default", .schedule = "s", .limit = 1000})).ticks;
  }
};

TEST_F(SqliteSchedules, SurviveAReopeningAndABoot) {
  auto store = open();
  must(store->change_schedule(putting("s")));
  clock_.advance(1min);
  must(store->step_ticks(stepping({firing(row_of(*store), 3, 1)}, "one")));
  must(store->step_ticks(stepping({skipping(row_of(*store), "overlap")}, "two")));
  const ScheduleRow before = row_of(*store);
  const std::vector<TickRow> ticks_before = ticks(*store);
  ASSERT_EQ(ticks_before.size(), 4u);
  store.reset();
  clock_.reboot("boot-2");
  store = open();
  EXPECT_EQ(row_of(*store), before);
  EXPECT_EQ(ticks(*store), ticks_before);
}

struct ScheduleDeath {
  CrashPoint point;
  bool happened;
};

class DeathWhileFiring : public SqliteSchedules, public testing::WithParamInterface<ScheduleDeath> {};

TEST_P(DeathWhileFiring, S1_LeavesTicksWithTheirJobsAndTheAccountOrNothing) {
  ScheduleRow row;
  {
    const auto store = open();
    row = must(store->change_schedule(putting("s"))).schedule;
  }
  clock_.advance(1min);
  const StepRequest request = stepping({firing(row, 3, 1)}, "one");
  Child child([&] {
    arm_crash_point(GetParam().point, 1);
    static_cast<void>(open()->step_ticks(request));
  });
  ASSERT_FALSE(child.is_ready()) << "it should have died at the point";
  const auto store = open();
  EXPECT_EQ(ticks(*store).size(), GetParam().happened ? 3u : 0u);
  EXPECT_EQ(must(store->jobs({.ns = "default"})).jobs.size(), GetParam().happened ? 3u : 0u);
  EXPECT_EQ(row_of(*store).resolved_to, row.resolved_to + (GetParam().happened ? 3s : 0s));
  const StepAnswer again = must(store->step_ticks(request)).answers.at(0);
  EXPECT_EQ(again.refused, Reason::none) << "whoever repeats it is told that it was taken, now or then";
  EXPECT_EQ(again.duplicates, std::vector<WallTime>{});
  EXPECT_EQ(ticks(*store).size(), 3u);
  EXPECT_EQ(must(store->jobs({.ns = "default"})).jobs.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(AtEachPoint, DeathWhileFiring,
                         testing::Values(ScheduleDeath{CrashPoint::sqlite_locked, false},
                                         ScheduleDeath{CrashPoint::sqlite_begun, false},
                                         ScheduleDeath{CrashPoint::sqlite_commit_before, false},
                                         ScheduleDeath{CrashPoint::sqlite_commit_after, true}));

TEST_F(SqliteSchedules, S1_SeveralStoresThatAllBelieveTheyLeadFireEachTickOnce) {
  constexpr int kStores = 3;
  constexpr int kTicks = 200;
  std::vector<std::unique_ptr<SqliteStore>> stores;
  for (int i = 0; i < kStores; ++i) stores.push_back(open());
  const ScheduleRow row = must(stores[0]->change_schedule(putting("s"))).schedule;
  clock_.advance(1h);
  std::atomic<int> taken = 0;
  std::atomic<int> moved = 0;
  std::vector<Task> leaders;
  for (int i = 0; i < kStores; ++i) {
    leaders.push_back(runtime_.spawn("leader", [&, i](std::stop_token) {
      Store& store = *stores[static_cast<std::size_t>(i)];
      ScheduleRow at_hand = row;
      for (int n = 0; at_hand.resolved_to < row.resolved_to + kTicks * 1s; ++n) {
        const std::string request = std::to_string(i) + "-" + std::to_string(n);
        const StepAnswer answer =
            must(store.step_ticks(stepping({firing(at_hand, 1, static_cast<std::uint64_t>(i * 100'000 + n + 1))},
                                           request, "node-" + std::to_string(i))))
                .answers.at(0);
        ++(answer.refused == Reason::none ? taken : moved);
        EXPECT_TRUE(answer.refused == Reason::none || answer.refused == Reason::moved) << answer.refused;
        at_hand.resolved_to = answer.resolved_to;
      }
    }));
  }
  for (Task& leader : leaders) leader.join();
  EXPECT_EQ(taken, kTicks);
  EXPECT_GT(moved, 0) << "or they never met";
  const std::vector<TickRow> fired = ticks(*stores[0]);
  std::set<JobId> jobs;
  for (const TickRow& tick : fired) jobs.insert(*tick.job);
  EXPECT_EQ(fired.size(), static_cast<std::size_t>(kTicks));
  EXPECT_EQ(jobs.size(), static_cast<std::size_t>(kTicks));
  EXPECT_EQ(must(stores[0]->jobs({.ns = "default", .limit = 1000})).jobs.size(), static_cast<std::size_t>(kTicks));
}

TEST_F(SqliteSchedules, AChangeAndAFiredTickWakeThoseWhoWatchInAnotherStore) {
  const auto one = open();
  const auto other = open();
  const auto changed = runtime_.make_event();
  const auto ready = runtime_.make_event();
  const auto orders =
      other->watch({.ns = "default", .queues = {}, .stage = "", .orders = true}, [&] { changed->notify(); });
  const auto jobs = other->watch({.ns = "default", .queues = {"q"}}, [&] { ready->notify(); });
  const ScheduleRow row = must(one->change_schedule(putting("s"))).schedule;
  EXPECT_TRUE(changed->wait_until(runtime_.now() + 10s));
  clock_.advance(1min);
  must(one->step_ticks(stepping({firing(row, 1, 1)}, "one")));
  EXPECT_TRUE(ready->wait_until(runtime_.now() + 10s));
}

TEST_F(SqliteSchedules, ExamineNamesAccountsAndBarsThatLieAheadOfTheClock) {
  const auto store = open();
  const auto finding = [&] {
    for (const Finding& found : must(store->examine())) {
      if (found.name == "schedules") return found;
    }
    return Finding{};
  };
  EXPECT_EQ(finding().detail, "0");
  must(store->change_schedule(putting("s")));
  must(store->change_schedule(putting("t")));
  EXPECT_EQ(finding().detail, "2");
  clock_.set_wall(clock_.wall_now() - 24h);
  must(store->change_schedule(putting("u")));
  EXPECT_EQ(finding().status, FindingStatus::warning);
  EXPECT_EQ(finding().detail, "2 of 3 are accounted for beyond the store's clock, up to 2023-11-14T22:13:20Z");
  const WallTime now = clock_.wall_now();
  const std::vector<ScheduleRow> ahead = must(store->schedules({.ns = "default", .names = {"s", "t"}})).schedules;
  clock_.set_wall(ahead.at(1).resolved_to + 1s + kTicksKeptFor);
  must(store->step_ticks(stepping({firing(ahead.at(1), 1, 1)}, "ahead")));
  EXPECT_EQ(must(store->tidy({.ns = "default"})).removed, 1);
  clock_.set_wall(now);
  for (const ScheduleRow& row : ahead)
    EXPECT_EQ(must(store->change_schedule(putting(row.name, row.revision))).schedule.resolved_to, now);
  EXPECT_EQ(finding().status, FindingStatus::warning) << "its bar still is";
  EXPECT_EQ(finding().detail, "1 of 3 are accounted for beyond the store's clock, up to 2023-11-14T22:13:21Z");
}

// A store with a history, and what its verbs cost beside it.
class LongHistory {
 public:
  ScheduleRow put(const std::string& name) { return store_.run(&sqlite::change_schedule, putting(name)).schedule; }
  StepAnswer step(TickStep step) {
    return store_.run(&sqlite::step_ticks, stepping({std::move(step)}, std::to_string(++last_))).answers.at(0);
  }
  // So many ticks that fired, and as many ranges between them.
  void let_pass(ScheduleRow row, int ticks) {
    store_.clock().advance(2s * ticks + 1s);
    for (int i = 0; i < ticks; ++i) {
      const StepAnswer fired = step(firing(row, 1, ++last_));
      ASSERT_EQ(fired.refused, Reason::none);
      row.resolved_to = fired.resolved_to;
      const StepAnswer skipped = step(skipping(row, i % 2 == 0 ? "overlap" : "cap"));
      ASSERT_EQ(skipped.refused, Reason::none);
      row.resolved_to = skipped.resolved_to;
    }
  }
  template <class Verb, class Request>
  std::int64_t steps(Verb verb, const Request& request) {
    store_.run(verb, request);
    return store_.last_steps();
  }
  ScheduleRow row(const std::string& name) {
    return store_.run(&sqlite::list_schedules, SchedulesRequest{.ns = "default", .names = {name}}).schedules.at(0);
  }
  SteppedStore& store() { return store_; }
  std::uint64_t next() { return ++last_; }

 private:
  SteppedStore store_;
  std::uint64_t last_ = 0;
};

// Steps of each verb on a schedule with so much behind it, beside as many that were removed.
std::map<std::string, std::int64_t> steps_after(int ticks) {
  LongHistory history;
  const ScheduleRow row = history.put("s");
  for (int i = 0; i < ticks; ++i) {
    ScheduleRow gone = history.put("gone-" + std::to_string(i));
    ChangeScheduleRequest removal = putting(gone.name, gone.revision);
    removal.change = ScheduleChange::remove;
    removal.spec.clear();
    history.store().run(&sqlite::change_schedule, removal);
  }
  history.let_pass(row, ticks);
  history.store().clock().advance(10s);
  std::map<std::string, std::int64_t> steps;
  const TickStep fires = firing(history.row("s"), 3, history.next());
  steps["fires"] = history.steps(&sqlite::step_ticks, stepping({fires}, "fires"));
  steps["skips"] = history.steps(&sqlite::step_ticks, stepping({skipping(history.row("s"), "missed")}, "skips"));
  steps["joins"] = history.steps(&sqlite::step_ticks, stepping({skipping(history.row("s"), "missed")}, "joins"));
  steps["repeat"] = history.steps(&sqlite::step_ticks, stepping({skipping(history.row("s"), "missed")}, "joins"));
  steps["unfinished"] =
      history.steps(&sqlite::list_schedules, SchedulesRequest{.ns = "default", .names = {"s"}, .unfinished = true});
  steps["changed"] =
      history.steps(&sqlite::list_schedules, SchedulesRequest{.ns = "default", .changed_after = 2 * ticks + 1});
  steps["all"] = history.steps(&sqlite::list_schedules, SchedulesRequest{.ns = "default"});
  steps["ticks"] = history.steps(&sqlite::list_ticks, TicksRequest{.ns = "default", .schedule = "s", .limit = 20});
  steps["fired"] = history.steps(&sqlite::list_ticks,
                                 TicksRequest{.ns = "default", .schedule = "s", .fired_only = true, .limit = 20});
  steps["tidy"] = history.steps(&sqlite::tidy, TidyRequest{.ns = "default", .limit = 100});
  const ScheduleRow at_hand = history.row("s");
  ChangeScheduleRequest rewind = putting("s", at_hand.revision);
  rewind.change = ScheduleChange::rewind;
  rewind.spec.clear();
  rewind.from = at_hand.resolved_to;
  rewind.to = fires.to;
  steps["rewind"] = history.steps(&sqlite::change_schedule, rewind);
  steps["put"] = history.steps(&sqlite::change_schedule, putting("s", at_hand.revision + 1));
  return steps;
}

TEST(LongHistories, MakeNoVerbOfSchedulesDearer) {
  const auto few = steps_after(50);
  const auto many = steps_after(1000);
  for (const auto& [verb, steps] : few)
    EXPECT_LE(many.at(verb), steps + steps / 10) << verb << ": after 2000 rows, against " << steps << " after 100";
}

TEST(LongHistories, AreTidiedStepByStepAtACostThatDoesNotGrowWithThem) {
  const auto steps_of_tidy = [](int ticks) {
    LongHistory history;
    history.let_pass(history.put("s"), ticks);
    history.let_pass(history.put("t"), ticks);
    history.store().clock().advance(kTicksKeptFor);
    return history.steps(&sqlite::tidy, TidyRequest{.ns = "default", .limit = 20});
  };
  const std::int64_t few = steps_of_tidy(50);
  EXPECT_LE(steps_of_tidy(1000), few + few / 10);
}

TEST(LongHistories, LoseTheirFirstRowsWhenThereAreTooManyAndNoneOfThemFiresAgain) {
  LongHistory history;
  const ScheduleRow begun = history.put("s");
  history.store().clock().advance(12h);
  const int too_many = 30;
  for (int rows = 0; rows < kTicksKeptMost + too_many; rows += 1003)
    history.step(firing(history.row("s"), std::min(1003, kTicksKeptMost + too_many - rows),
                        1 + static_cast<std::uint64_t>(rows)));
  TidyReply tidied = history.store().run(&sqlite::tidy, TidyRequest{.ns = "default", .limit = 20});
  EXPECT_EQ(tidied.removed, 20);
  EXPECT_TRUE(tidied.more);
  tidied = history.store().run(&sqlite::tidy, TidyRequest{.ns = "default", .limit = 20});
  EXPECT_EQ(tidied.removed, too_many - 20);
  EXPECT_FALSE(tidied.more);
  const ScheduleRow row = history.row("s");
  EXPECT_EQ(row.bar, begun.resolved_to + too_many * 1s);
  EXPECT_EQ(history.store().count("SELECT count(*) FROM fenceline_tick"), kTicksKeptMost);
  EXPECT_EQ(history.store().count("SELECT min(tick) FROM fenceline_tick"), (row.bar + 1s).time_since_epoch().count());
}

// A thousand schedules that are due at one moment; FENCELINE_STEPS says how often.
TEST_F(SqliteSchedules, OfAThousandThatAreDueAllFireInOneCall) {
  std::vector<ScheduleRow> rows;
  {
    SqliteOptions quick = options();
    quick.synchronous = SqliteSync::normal;
    const auto store = must(try_open(quick));
    for (int i = 0; i < kSchedulesAtOnceMax; ++i)
      rows.push_back(must(store->change_schedule(putting("s" + std::to_string(i)))).schedule);
  }
  const auto store = open();
  const char* text = std::getenv("FENCELINE_STEPS");
  const int calls = text ? static_cast<int>(std::strtol(text, nullptr, 10)) : 2;
  clock_.advance(1h);
  std::uint64_t job = 1;
  const Instant began = runtime_.now();
  for (int call = 0; call < calls; ++call) {
    std::vector<TickStep> steps;
    for (const ScheduleRow& row : rows) steps.push_back(firing(row, 1, job++));
    const StepReply reply = must(store->step_ticks(stepping(std::move(steps), std::to_string(call))));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(reply.answers[i].refused, Reason::none);
      rows[i].resolved_to = reply.answers[i].resolved_to;
    }
  }
  const auto took = std::chrono::duration<double>(runtime_.now() - began).count();
  RecordProperty("ticks_a_second", static_cast<int>(calls * kSchedulesAtOnceMax / took));
  std::vector<std::string> names;
  for (const ScheduleRow& row : rows) names.push_back(row.name);
  const Instant asked = runtime_.now();
  const SchedulesReply reply = must(store->schedules({.ns = "default", .names = names, .unfinished = true}));
  RecordProperty("unfinished_us", static_cast<int>((runtime_.now() - asked).count()));
  for (const ScheduleRow& row : reply.schedules)
    EXPECT_EQ(row.unfinished.size(), static_cast<std::size_t>(std::min(calls, kOverlapLooked)));
}

}  // namespace
}  // namespace fenceline::test
