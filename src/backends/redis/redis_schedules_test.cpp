// Schedules on a Redis server: what several processes, a server that forgets its scripts, one that is full and one that
// does not answer make of ticks; and that neither lists nor tidying take a long script.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <set>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const Act kSchedulesAct{"ann", "because"};
constexpr Duration kPatience = 60s;  // on a machine that has much else to do

class RedisSchedules : public testing::Test {
 protected:
  RedisSchedules() { clock_.set_wall(std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}); }

  std::string next_request() { return "r" + std::to_string(++last_); }
  NewJob new_job() {
    NewJob job;
    job.id = make_uuid7(clock_.wall_now(), 0, ++last_);
    job.queue = "q";
    return job;
  }
  ScheduleRow change(ScheduleChange change, const std::string& name, std::int64_t revision,
                     const std::string& spec = "") {
    ChangeScheduleRequest request{.ns = "default",
                                  .name = name,
                                  .change = change,
                                  .revision = revision,
                                  .step = {},
                                  .spec = spec,
                                  .kept = {},
                                  .job = {},
                                  .timeout = kPatience};
    request.request = next_request();
    request.owner = "ann";
    request.act = kSchedulesAct;
    return must(store_->change_schedule(request)).schedule;
  }
  std::vector<ScheduleRow> put(int count, const std::string& spec = "{}") {
    std::vector<ScheduleRow> rows;
    for (int i = 0; i < count; ++i)
      rows.push_back(change(ScheduleChange::put, "s" + std::to_string(1000 + i), 0, spec));
    return rows;
  }
  // Each from where it stands to `to`, which fires.
  StepRequest firing(const std::vector<ScheduleRow>& rows, WallTime to) {
    StepRequest request{
        .ns = "default", .steps = {}, .request = next_request(), .owner = "a", .place = "host:1", .timeout = kPatience};
    for (const ScheduleRow& row : rows)
      request.steps.push_back({.schedule = row.name,
                               .revision = row.revision,
                               .from = row.resolved_to,
                               .to = to,
                               .fired = {{to, new_job()}},
                               .skipped = {}});
    return request;
  }
  std::vector<ScheduleRow> all() {
    return must(store_->schedules(
                    {.ns = "default", .names = {}, .changed_after = {}, .after = "", .timeout = kPatience}))
        .schedules;
  }
  std::int64_t jobs_ready() {
    const std::vector<QueueRow> queues = must(store_->queues("default"));
    return queues.empty() ? 0 : queues.front().depth_of(JobState::ready);
  }
  std::vector<TickRow> ticks(const std::string& name) {
    return must(store_->ticks({.ns = "default", .schedule = name, .after = {}, .before = {}, .limit = 1000})).ticks;
  }
  std::set<std::string> keys_left() {
    std::set<std::string> left;
    for (const redis::Value& key : admin_(redis::Command("KEYS").arg(keys_.prefix() + ":*")).items)
      left.insert(key.text.substr(keys_.prefix().size() + 1));
    return left;
  }
  // What the server's thread has computed so far, in milliseconds.
  double computed() {
    const std::string cpu = admin_(redis::Command("INFO").arg("cpu")).text;
    double seconds = 0;
    for (const std::string name : {"used_cpu_user_main_thread:", "used_cpu_sys_main_thread:"})
      seconds += std::strtod(cpu.c_str() + cpu.find(name) + name.size(), nullptr);
    return seconds * 1e3;
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  RedisKeys keys_{"schedules"};
  redis::test::Admin admin_{runtime_};
  std::unique_ptr<RedisStore> store_ = keys_.open(runtime_, clock_);
  std::atomic<std::uint64_t> last_{0};
};

TEST_F(RedisSchedules, S1_OfManyWhoStepTheSameSchedulesOneMovesEachAndScriptsMayBeForgotten) {
  constexpr int kSchedules = 50, kRounds = 20, kLeaders = 4;
  put(kSchedules);
  clock_.advance(1h);
  std::vector<std::unique_ptr<RedisStore>> stores;
  for (int i = 0; i < kLeaders; ++i) stores.push_back(keys_.open(runtime_, clock_));
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<ScheduleRow> rows = all();
    std::vector<StepRequest> requests;
    for (int i = 0; i < kLeaders; ++i) requests.push_back(firing(rows, rows.front().resolved_to + 1s));
    std::vector<StepReply> replies(kLeaders);
    {
      std::vector<Task> leaders;
      for (std::size_t i = 0; i < kLeaders; ++i)
        leaders.push_back(runtime_.spawn(
            "leader", [&, i](const std::stop_token&) { replies[i] = must(stores[i]->step_ticks(requests[i])); }));
      admin_(redis::Command("SCRIPT").arg("FLUSH"));
    }
    for (std::size_t schedule = 0; schedule < kSchedules; ++schedule) {
      int taken = 0;
      for (const StepReply& reply : replies) {
        const StepAnswer& answer = reply.answers.at(schedule);
        taken += answer.refused == Reason::none;
        if (answer.refused != Reason::none) {
          EXPECT_EQ(answer.refused, Reason::moved);
        }
        EXPECT_EQ(answer.resolved_to, rows.front().resolved_to + 1s);
      }
      ASSERT_EQ(taken, 1) << "round " << round;
    }
  }
  EXPECT_EQ(jobs_ready(), kSchedules * kRounds);
  EXPECT_EQ(ticks("s1000").size(), kRounds);
}

TEST_F(RedisSchedules, S1_AFullServerRefusesAStepWhole) {
  const std::vector<ScheduleRow> rows = put(3);
  clock_.advance(1h);
  const WallTime now = clock_.wall_now();
  StepRequest fires = firing(rows, now);
  StepRequest skips{.ns = "default", .steps = {}, .request = next_request(), .owner = "a", .place = ""};
  skips.steps.push_back({.schedule = rows[0].name,
                         .revision = rows[0].revision,
                         .from = rows[0].resolved_to,
                         .to = now,
                         .fired = {},
                         .skipped = {{now - 1min, now, 2, "missed"}}});
  {
    const redis::test::Full full(admin_);
    for (const StepRequest& request : {fires, skips}) {
      const Result<StepReply> refused = store_->step_ticks(request);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::full);
    }
    EXPECT_EQ(all(), rows);
    EXPECT_TRUE(ticks("s1000").empty());
    EXPECT_EQ(jobs_ready(), 0);
    EXPECT_TRUE(change(ScheduleChange::pause, "s1001", rows[1].revision).paused)
        << "what stops a schedule needs no room";
    EXPECT_TRUE(change(ScheduleChange::remove, "s1002", rows[2].revision).removed);
  }
  const StepReply taken = must(store_->step_ticks(fires));
  EXPECT_EQ(taken.answers[0].refused, Reason::none);
  EXPECT_EQ(taken.answers[1].refused, Reason::changed);
  EXPECT_EQ(taken.answers[2].refused, Reason::not_found);
  EXPECT_EQ(jobs_ready(), 1);
}

TEST_F(RedisSchedules, S1_AStepWithoutAnAnswerIsInDoubtAndItsRepeatFiresNothingTwice) {
  const std::vector<ScheduleRow> rows = put(2);
  clock_.advance(1h);
  StepRequest request = firing(rows, clock_.wall_now());
  request.timeout = 200ms;
  admin_(redis::Command("CLIENT").arg("PAUSE").arg(60'000).arg("WRITE"));
  EXPECT_EQ(store_->step_ticks(request).error().code, Code::in_doubt);
  admin_(redis::Command("CLIENT").arg("UNPAUSE"));
  request.timeout = kPatience;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const StepAnswer& answer : must(store_->step_ticks(request)).answers) {
      EXPECT_EQ(answer.refused, Reason::none);
      EXPECT_TRUE(answer.duplicates.empty());
    }
  }
  EXPECT_EQ(jobs_ready(), 2);
}

TEST_F(RedisSchedules, TheJobsOfTicksAreAsIfTheyHadBeenEnqueued) {
  const std::vector<ScheduleRow> rows = put(1);
  clock_.advance(1h);
  StepRequest request = firing(rows, clock_.wall_now());
  std::vector<FiredTick>& fired = request.steps[0].fired;
  for (int i = 0; i < 1500; ++i) {  // over more than one string of ids
    NewJob job = new_job();
    job.priority = i % 3 == 1 ? 5 : 0;
    if (i % 5 == 2) job.group = "g" + std::to_string(i % 7);
    if (i % 7 == 3) job.limit_key = "l";
    job.at = clock_.wall_now() + (i % 11 == 4 ? 1h : -1min);
    fired.insert(fired.end() - 1, {rows[0].resolved_to + (i + 1) * 1s, job});
  }
  EXPECT_EQ(must(store_->step_ticks(request)).answers[0].refused, Reason::none);
  const std::vector<Job> jobs = must(store_->jobs({.ns = "default", .limit = 1000, .timeout = kPatience})).jobs;
  ASSERT_EQ(jobs.size(), 1000u);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(jobs[i].id, fired[i].job.id) << "in the order of their ticks";
    EXPECT_EQ(jobs[i].run_at, std::max(clock_.wall_now(), *fired[i].job.at));
  }
  clock_.advance(2h);
  std::set<JobId> claimed;
  for (int round = 0; round < 3000 && claimed.size() < fired.size(); ++round) {
    SettleRequest done{.ns = "default", .owner = "a", .settlements = {}, .timeout = kPatience};
    for (const ClaimedJob& job : must(store_->claim({.ns = "default",
                                 .queues = {"q"},
                                 .owner = "a",
                                 .request = next_request(),
                                 .limit = 1000,
                                 .ttl = 30s,
                                 .timeout = kPatience}))
                                     .jobs) {
      EXPECT_TRUE(claimed.insert(job.job.id).second);
      done.settlements.push_back({job.job.id, job.job.fence, {.kind = OutcomeKind::done, .result = ""}});
    }
    must(store_->settle(done));
  }
  EXPECT_EQ(claimed.size(), fired.size());
}

TEST_F(RedisSchedules, LargeSpecsAreListedInShortScripts) {
  put(100, std::string(kScheduleSpecBytesMax, 'x'));
  admin_(redis::Command("CONFIG").arg("RESETSTAT"));
  EXPECT_EQ(all().size(), 100u);
  std::vector<std::string> names{"s1099", "none", "s1000"};
  for (int i = 1; i < 99; ++i) names.push_back("s" + std::to_string(1000 + i));
  const SchedulesReply named = must(store_->schedules(
      {.ns = "default", .names = names, .changed_after = {}, .after = "", .limit = 1, .timeout = kPatience}));
  EXPECT_EQ(named.schedules.size(), 100u);
  EXPECT_FALSE(named.more);
  EXPECT_TRUE(std::ranges::is_sorted(named.schedules, {}, &ScheduleRow::name));
  const SchedulesReply changed = must(store_->schedules(
      {.ns = "default", .names = {}, .changed_after = 20, .after = "", .limit = 60, .timeout = kPatience}));
  ASSERT_EQ(changed.schedules.size(), 60u);
  EXPECT_TRUE(changed.more);
  EXPECT_EQ(changed.schedules.front().version, 21);
  EXPECT_EQ(changed.schedules.back().version, 80);
  EXPECT_EQ(changed.version, 100);
}

TEST_F(RedisSchedules, WhatIsOldGoesInShortScriptsAndOfARemovedScheduleNothingStays) {
  std::vector<ScheduleRow> rows = put(40);
  const WallTime began = clock_.wall_now();
  clock_.advance(1h);
  StepRequest request{
      .ns = "default", .steps = {}, .request = next_request(), .owner = "a", .place = "", .timeout = kPatience};
  for (const ScheduleRow& row : rows) {
    TickStep step{
        .schedule = row.name, .revision = row.revision, .from = began, .to = began + 30min, .fired = {}, .skipped = {}};
    for (int i = 0; i < 30; ++i) step.fired.push_back({began + 1min * i + 1s, new_job()});
    for (int i = 0; i < 30; ++i) step.skipped.push_back({began + 1min * i + 2s, began + 1min * i + 3s, 2, "missed"});
    request.steps.push_back(step);
  }
  for (const StepAnswer& answer : must(store_->step_ticks(request)).answers) ASSERT_EQ(answer.refused, Reason::none);
  for (const ScheduleRow& row : rows) change(ScheduleChange::remove, row.name, row.revision);
  clock_.advance(7 * 24h + 10min);
  std::int64_t removed = 0;
  const auto tidied = [&] { return must(store_->tidy({.ns = "default", .limit = 1500, .timeout = kPatience})); };
  TidyReply reply = tidied();
  EXPECT_EQ(reply.removed, 1500);
  EXPECT_TRUE(reply.more);
  for (removed = reply.removed; reply.more; removed += reply.removed) reply = tidied();
  EXPECT_EQ(removed, 40 * 60);
  EXPECT_TRUE(ticks("s1000").empty());
  const std::vector<ScheduleRow> left =
      must(store_->schedules({.ns = "default", .names = {}, .changed_after = 0, .after = ""})).schedules;
  ASSERT_EQ(left.size(), 40u);
  EXPECT_EQ(left[0].bar, began + 29min + 1s) << "that of the last one that fired";
  clock_.advance(31 * 24h);
  EXPECT_EQ(tidied().removed, 40);
  for (const std::string& key : keys_left()) {
    EXPECT_FALSE(key.contains("tick") || (key.contains("schedule") && key != "{default}:schedules_last")) << key;
  }
  const ScheduleRow again = change(ScheduleChange::put, "other", 0, "{}");
  EXPECT_EQ(again.bar, began + 29min + 1s);
  EXPECT_EQ(again.revision, 81);
}

TEST_F(RedisSchedules, AScheduleKeepsItsTenThousandLargestTicks) {
  ScheduleRow row = put(1).front();
  const WallTime began = row.resolved_to;
  clock_.advance(24h);
  for (int i = 0; i < 11; ++i) {
    StepRequest request = firing({row}, began + (i + 1) * 1000s);
    for (int second = 1; second < 1000; ++second)
      request.steps[0].fired.insert(request.steps[0].fired.end() - 1, {began + i * 1000s + second * 1s, new_job()});
    row.resolved_to = must(store_->step_ticks(request)).answers.at(0).resolved_to;
  }
  const TidyReply reply = must(store_->tidy({.ns = "default", .limit = 10'000, .timeout = kPatience}));
  EXPECT_EQ(reply.removed, 1000);
  EXPECT_FALSE(reply.more);
  EXPECT_EQ(all().front().bar, began + 1000s);
  EXPECT_EQ(must(store_->tidy({.ns = "default", .timeout = kPatience})).removed, 0);
  EXPECT_EQ(
      must(store_->ticks({.ns = "default", .schedule = row.name, .after = {}, .before = began + 1002s})).ticks.size(),
      1u);
}

TEST_F(RedisSchedules, S1_TheServersClockSaysWhatIsEarly) {
  RedisOptions options;
  options.url = keys_.url();
  const std::unique_ptr<RedisStore> store = must(RedisStore::open(runtime_, Log(null_log_sink()), options));
  ChangeScheduleRequest put{.ns = "default",
                            .name = "s",
                            .step = {},
                            .spec = "{}",
                            .kept = {},
                            .job = {},
                            .request = "put",
                            .owner = "ann",
                            .place = "",
                            .act = kSchedulesAct};
  ScheduleRow row = must(store->change_schedule(put)).schedule;
  const StepReply early = must(store->step_ticks(firing({row}, row.resolved_to + 1h)));
  EXPECT_EQ(early.answers[0].refused, Reason::early);
  EXPECT_GE(early.now, row.resolved_to);
  EXPECT_LT(early.now, row.resolved_to + 1h);
  const WallTime now = must(store->schedules({.ns = "default", .names = {}, .changed_after = {}, .after = ""})).now;
  EXPECT_GE(now, early.now);
  EXPECT_EQ(must(store->step_ticks(firing({row}, now))).answers[0].refused, Reason::none);
}

// The lines of docs/redis.md for a runbook.
TEST_F(RedisSchedules, PeopleSeeWhichAccountsStandStillAndTheTicksOfOne) {
  const std::vector<ScheduleRow> rows = put(3);
  clock_.advance(48h);
  const WallTime now = clock_.wall_now();
  must(store_->step_ticks(firing({rows[0]}, now)));
  change(ScheduleChange::remove, rows[1].name, rows[1].revision);
  const auto at = [](WallTime time) { return std::to_string(time.time_since_epoch().count()); };
  const redis::Value still = admin_(redis::Command("ZRANGE")
                                        .key(keys_.prefix() + ":{default}:schedules_at")
                                        .arg("-inf")
                                        .arg(at(now - 24h))
                                        .arg("BYSCORE"));
  ASSERT_EQ(still.items.size(), 1u);
  EXPECT_EQ(still.items[0].text, rows[2].name);
  EXPECT_EQ(
      admin_(
          redis::Command("ZCOUNT").key(keys_.prefix() + ":{default}:ticks:" + rows[0].name).arg(at(now)).arg(at(now)))
          .integer,
      1);
}

TEST_F(RedisSchedules, TheDoctorNamesAccountsAndBarsThatLieAheadOfTheClock) {
  const auto finding = [&] {
    for (const Finding& found : must(store_->examine())) {
      if (found.name == "schedules") return found;
    }
    return Finding{};
  };
  EXPECT_EQ(finding().detail, "0");
  const std::vector<ScheduleRow> rows = put(2);
  EXPECT_EQ(finding().status, FindingStatus::ok);
  EXPECT_EQ(finding().detail, "2");
  const WallTime now = clock_.wall_now();
  const WallTime ahead = now + std::chrono::days{30};
  clock_.set_wall(ahead);
  must(store_->step_ticks(firing({rows[0]}, ahead)));
  clock_.set_wall(now);
  const std::string expected = "1 of 2 are accounted for beyond the store's clock, up to 2026-12-16T00:00:00Z";
  EXPECT_EQ(finding().status, FindingStatus::warning);
  EXPECT_EQ(finding().detail, expected);
  clock_.set_wall(ahead + kTicksKeptFor);
  EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
  clock_.set_wall(now);
  const ScheduleRow edited = change(ScheduleChange::put, rows[0].name, rows[0].revision, "{}");
  EXPECT_EQ(edited.resolved_to, now);
  EXPECT_EQ(finding().detail, expected) << "its bar still is";
  change(ScheduleChange::remove, edited.name, edited.revision);
  EXPECT_EQ(finding().detail, "1");
}

// By hand: script/with_redis -- bin/redis_test --gtest_also_run_disabled_tests
// --gtest_filter='RedisSchedules.DISABLED_*'
TEST_F(RedisSchedules, DISABLED_AThousandStepsTakeTheServerMilliseconds) {
  put(1000);
  clock_.advance(24h);
  std::vector<double> times;
  std::vector<ScheduleRow> rows = all();
  for (int round = 0; round < 20; ++round, rows = all()) {
    const StepRequest request = firing(rows, rows.front().resolved_to + 1min);
    const double before = computed();
    for (const StepAnswer& answer : must(store_->step_ticks(request)).answers) ASSERT_EQ(answer.refused, Reason::none);
    times.push_back(computed() - before);
  }
  std::ranges::sort(times);
  std::printf("1,000 steps with a job each: %.1f ms of the server (least %.1f, most %.1f)\n", times[10], times.front(),
              times.back());
  StepRequest most = firing({}, {});
  for (std::size_t i = 0; i < 10; ++i) {
    TickStep step{.schedule = rows[i].name,
                  .revision = rows[i].revision,
                  .from = rows[i].resolved_to,
                  .to = clock_.wall_now(),
                  .fired = {},
                  .skipped = {}};
    for (int tick = 1; tick <= 1000; ++tick) step.fired.push_back({step.from + tick * 1s, new_job()});
    most.steps.push_back(std::move(step));
  }
  const double before = computed();
  must(store_->step_ticks(most));
  std::printf("10 steps with 1,000 jobs each: %.1f ms of the server\n", computed() - before);
}

}  // namespace
}  // namespace fenceline::test
