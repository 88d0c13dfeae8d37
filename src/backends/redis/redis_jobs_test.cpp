// What the verbs of jobs cost on a Redis server, and how plain jobs, which share what they can, stay jobs of their own.
#include <gtest/gtest.h>

#include <set>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const Act kAct{"ann", "because"};

class RedisJobs : public testing::Test {
 protected:
  NewJob new_job(const std::string& queue = "q") {
    NewJob job;
    job.id = make_uuid7(clock_.wall_now(), 0, ++last_);
    job.queue = queue;
    return job;
  }
  void add(std::vector<NewJob> jobs) { must(store_->enqueue({.ns = "default", .jobs = std::move(jobs)})); }
  // So many, each as `make` leaves it.
  template <class Make>
  std::vector<JobId> add_many(int count, Make make) {
    std::vector<NewJob> jobs;
    std::vector<JobId> ids;
    for (int i = 0; i < count; ++i) {
      jobs.push_back(new_job());
      make(jobs.back());
      ids.push_back(jobs.back().id);
    }
    add(std::move(jobs));
    return ids;
  }
  std::vector<JobId> add_plain(int count) {
    return add_many(count, [](NewJob&) {});
  }
  ClaimRequest asking(int limit, const std::string& owner = "a") {
    return {.ns = "default",
            .queues = {"q"},
            .stage = "",
            .owner = owner,
            .request = std::to_string(++last_),
            .limit = limit,
            .ttl = 30s};
  }
  std::vector<ClaimedJob> claim(int limit, const std::string& owner = "a") {
    return must(store_->claim(asking(limit, owner))).jobs;
  }
  SettleReply settle(const std::vector<ClaimedJob>& jobs, const Outcome& outcome, const std::string& owner = "a") {
    SettleRequest request{.ns = "default", .owner = owner, .settlements = {}};
    for (const ClaimedJob& job : jobs) request.settlements.push_back({job.job.id, job.job.fence, outcome});
    return must(store_->settle(request));
  }
  ExtendReply extend(const std::vector<ClaimedJob>& jobs, const std::string& owner = "a") {
    ExtendRequest request{.ns = "default", .owner = owner, .jobs = {}, .ttl = 30s};
    for (const ClaimedJob& job : jobs) request.jobs.push_back({job.job.id, job.job.fence});
    return must(store_->extend(request));
  }
  Job look(const JobId& id) { return must(store_->job("default", id)).value(); }

  // Commands that the server has run so far, those inside of scripts included.
  std::int64_t commands_run() {
    const std::string stats = admin_(redis::Command("INFO").arg("commandstats")).text;
    std::int64_t calls = 0;
    for (std::size_t at = stats.find(":calls="); at != std::string::npos; at = stats.find(":calls=", at + 1))
      calls += std::strtoll(stats.c_str() + at + 7, nullptr, 10);
    return calls;
  }
  template <class Step>
  std::int64_t commands_of(Step step) {
    const std::int64_t before = commands_run();
    step();
    return commands_run() - before - 1;  // the look itself
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  RedisKeys keys_{"jobs"};
  redis::test::Admin admin_{runtime_};
  std::unique_ptr<RedisStore> store_ = keys_.open(runtime_, clock_);
  std::uint64_t last_ = 0;
};

TEST_F(RedisJobs, J8_WhatIsBlockedAheadOrOverInFrontMakesAClaimNoDearer) {
  must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = kAct}));
  add_many(2, [](NewJob& job) { job.limit_key = "full"; });
  ASSERT_EQ(claim(5).size(), 1u);
  add_many(3'000, [](NewJob& job) { job.limit_key = "full", job.priority = 5; });
  add_many(3'000, [](NewJob& job) { job.group = "g", job.delay = 1h; });
  add_many(3'000, [](NewJob& job) { job.delay = 24h; });
  add_plain(3'000);
  settle(claim(3'000), {.kind = OutcomeKind::done});
  const std::vector<JobId> free = add_many(3, [](NewJob& job) { job.group = "of its own", job.priority = -1; });
  std::vector<ClaimedJob> claimed;
  EXPECT_LT(commands_of([&] { claimed = claim(1); }), 80);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].job.id, free[0]);
  EXPECT_LT(commands_of([&] { claimed = claim(1); }), 80) << "with nothing to be had";
  EXPECT_TRUE(claimed.empty());
}

TEST_F(RedisJobs, J8_JobsOfALimitKeyThatIsFullArePutAsideOnceInShortScripts) {
  add_many(5'000, [](NewJob& job) { job.limit_key = "full"; });
  const std::vector<ClaimedJob> holder = claim(1);
  must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = kAct}));
  NewJob free = new_job();
  free.priority = -5;
  add({free});
  const std::vector<ClaimedJob> claimed = claim(10);
  ASSERT_EQ(claimed.size(), 1u) << "behind all of them";
  EXPECT_EQ(claimed[0].job.id, free.id);
  EXPECT_LT(commands_of([&] { EXPECT_TRUE(claim(10).empty()); }), 80);
  settle(holder, {.kind = OutcomeKind::done});
  EXPECT_EQ(claim(10).size(), 1u) << "the slot is free";
}

TEST_F(RedisJobs, ABatchIsClaimedRenewedAndSettledInAFewCommands) {
  add_plain(1'000);
  std::vector<ClaimedJob> claimed;
  EXPECT_LT(commands_of([&] { claimed = claim(1'000); }), 60);
  ASSERT_EQ(claimed.size(), 1'000u);
  clock_.advance(20s);
  EXPECT_LT(commands_of([&] { EXPECT_TRUE(extend(claimed).refused.empty()); }), 20);
  clock_.advance(20s);
  EXPECT_LT(
      commands_of([&] { EXPECT_TRUE(settle(claimed, {.kind = OutcomeKind::done, .result = "r"}).refused.empty()); }),
      30);
  EXPECT_EQ(look(claimed[999].job.id).result, "r");
}

TEST_F(RedisJobs, AWaitingPlainJobNeedsLittleMemory) {
  const auto used = [&] {
    const std::string info = admin_(redis::Command("INFO").arg("memory")).text;
    return std::strtoll(info.c_str() + info.find("used_memory:") + 12, nullptr, 10);
  };
  add_many(1, [](NewJob& job) { job.payload = '"' + std::string(98, 'x') + '"'; });
  const std::int64_t before = used();
  for (int batch = 0; batch < 20; ++batch)
    add_many(1'000, [](NewJob& job) { job.payload = '"' + std::string(98, 'x') + '"'; });
  EXPECT_LT((used() - before) / 20'000, 300);
}

TEST_F(RedisJobs, ACallOfMoreThanABatchIsAnsweredWhole) {
  const std::vector<JobId> ids = add_plain(2'500);
  const std::vector<ClaimedJob> claimed = claim(2'500);
  ASSERT_EQ(claimed.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(claimed[i].job.id, ids[i]);
  EXPECT_TRUE(extend(claimed).refused.empty());
  SettleRequest request{.ns = "default", .owner = "a", .settlements = {}};
  for (std::size_t i = 0; i < claimed.size(); ++i)
    request.settlements.push_back({claimed[i].job.id,
                                   claimed[i].job.fence,
                                   {.kind = OutcomeKind::done,
                                    .result = std::string(i % 500, 'r'),
                                    .error = "",
                                    .retry_in = 0s,
                                    .exit_status = 0}});
  EXPECT_TRUE(must(store_->settle(request)).refused.empty());
  EXPECT_TRUE(must(store_->settle(request)).refused.empty()) << "a repeat";
  for (const std::size_t i : {0u, 1u, 199u, 200u, 201u, 499u, 1'000u, 2'499u}) {
    const Job job = look(ids[i]);
    EXPECT_EQ(job.state, JobState::done);
    EXPECT_EQ(job.result, std::string(i % 500, 'r'));
    EXPECT_EQ(job.exit_status, 0);
    EXPECT_EQ(job.deliveries, 1);
    EXPECT_EQ(must(store_->attempts("default", ids[i])).size(), 1u);
  }
  clock_.advance(8 * 24h);
  std::int64_t removed = 0;
  for (int step = 0; step < 10; ++step) removed += must(store_->tidy({.ns = "default", .limit = 1'000})).removed;
  EXPECT_EQ(removed, 2'500);
}

TEST_F(RedisJobs, EachOfABatchCanGoItsOwnWay) {
  const std::vector<JobId> ids = add_plain(20);
  const std::vector<ClaimedJob> claimed = claim(20);
  const auto only = [&](std::size_t i) { return std::vector<ClaimedJob>{claimed[i]}; };
  must(store_->cancel({.ns = "default", .ids = {ids[0]}, .request = "c", .act = kAct}));
  must(store_->record(
      {.ns = "default",
       .notes = {{.id = ids[1], .fence = claimed[1].job.fence, .progress = Progress{50, "half"}, .log = "words\n"}}}));
  settle(only(2), {.kind = OutcomeKind::failed, .error = "no", .retry_in = 1h});
  settle(only(3), {.kind = OutcomeKind::given_back});
  settle(only(4), {.kind = OutcomeKind::done, .result = "r"});
  must(store_->record({.ns = "default",
                       .notes = {{.id = ids[4],
                                  .fence = claimed[4].job.fence,
                                  .progress = Progress{100, "all"}}}}));  // has a record of its own now
  clock_.advance(20s);
  EXPECT_TRUE(extend(only(5)).refused.empty());
  clock_.advance(20s);  // the others' leases are over

  EXPECT_EQ(look(ids[0]).state, JobState::cancelled);
  EXPECT_EQ(look(ids[1]).progress, (Progress{50, "half"}));
  EXPECT_EQ(look(ids[2]).failures, 1);
  EXPECT_EQ(look(ids[4]).result, "r");
  EXPECT_EQ(look(ids[5]).lease_left, 10s);
  EXPECT_EQ(extend(only(6)).refused.at(0).reason, Reason::expired);
  const std::vector<ClaimedJob> taken_over = claim(100, "b");
  std::set<JobId> got;
  for (const ClaimedJob& job : taken_over) {
    got.insert(job.job.id);
    EXPECT_EQ(job.forced, job.job.id != ids[3]);
    EXPECT_EQ(job.job.losses, job.forced ? 1 : 0);
  }
  std::set<JobId> expected(ids.begin() + 6, ids.end());
  expected.insert({ids[1], ids[3]});
  EXPECT_EQ(got, expected);
  EXPECT_EQ(settle(only(7), {.kind = OutcomeKind::done}).refused.at(0).reason, Reason::superseded);
  EXPECT_TRUE(settle(only(5), {.kind = OutcomeKind::done}).refused.empty());
}

TEST_F(RedisJobs, PlainJobsCancelledOutOfTurnAreNotClaimed) {
  const std::vector<JobId> ids = add_plain(10);
  must(store_->cancel({.ns = "default", .ids = {ids[0], ids[4], ids[9]}, .request = "c", .act = kAct}));
  EXPECT_EQ(must(store_->queues("default")).at(0).depth_of(JobState::ready), 7);
  const std::vector<ClaimedJob> claimed = claim(5);
  ASSERT_EQ(claimed.size(), 5u);
  EXPECT_EQ(claimed[3].job.id, ids[5]);
  must(store_->cancel({.ns = "default", .ids = {ids[7], ids[8]}, .request = "d", .act = kAct}));
  EXPECT_TRUE(claim(5).empty());
  const JobId next = add_plain(1).front();
  ASSERT_EQ(claim(5).size(), 1u);
  EXPECT_EQ(look(next).state, JobState::running);
}

TEST_F(RedisJobs, J4_AClaimThatIsRefusedLeavesTheCountsAsTheyAre) {
  const std::vector<JobId> ids = add_plain(5);
  must(store_->cancel({.ns = "default", .ids = {ids[1], ids[2]}, .request = "c", .act = kAct}));
  const WallTime wall = clock_.wall_now();
  clock_.set_wall(WallTime{Duration{kFenceMax + 1}});
  EXPECT_EQ(code_of(store_->claim(asking(5))), Code::refused);
  clock_.set_wall(wall);
  EXPECT_EQ(must(store_->queues("default")).at(0).depth_of(JobState::ready), 3);
  EXPECT_EQ(claim(5).size(), 3u);
}

TEST_F(RedisJobs, AClockThatWasSetBackLeavesPlainJobsInTheOrderOfTheirTimes) {
  const JobId first = add_plain(1).front();
  clock_.set_wall(clock_.wall_now() - 1h);
  const JobId second = add_plain(1).front();
  EXPECT_EQ(claim(5).at(0).job.id, second) << "the other one lies ahead";
  EXPECT_EQ(must(store_->backlog({.ns = "default", .queues = {"q"}, .stage = ""})).ahead, 1);
  clock_.set_wall(clock_.wall_now() + 2h);
  EXPECT_EQ(claim(5).at(0).job.id, first);
}

// The server's own clock, and keys that it expires.
TEST(RedisClock, LeasesRunOnTheServersClock) {
  ThreadRuntime runtime;
  const RedisKeys keys("clock");
  RedisOptions options;
  options.url = keys.url();
  const std::unique_ptr<RedisStore> store = must(RedisStore::open(runtime, Log(null_log_sink()), options));
  NewJob job;
  job.id = make_uuid7(runtime.wall_now(), 1, 1);
  job.queue = "q";
  must(store->enqueue({.ns = "default", .jobs = {job}}));
  ClaimRequest asking{
      .ns = "default", .queues = {"q"}, .stage = "", .owner = "a", .request = "1", .limit = 1, .ttl = 1s};
  const ClaimReply granted = must(store->claim(asking));
  ASSERT_EQ(granted.jobs.size(), 1u);
  const ClaimReply repeated = must(store->claim(asking));
  if (!repeated.jobs.empty()) {  // not, if this took longer than the lease
    EXPECT_EQ(repeated.jobs[0].job.fence, granted.jobs[0].job.fence);
    EXPECT_LE(repeated.jobs[0].left, granted.jobs[0].left);
  }
  asking.owner = "b";
  ClaimReply taken;
  for (const Instant deadline = runtime.now() + 60s; taken.jobs.empty() && runtime.now() < deadline;) {
    taken = must(store->claim(asking));
    if (taken.jobs.empty()) runtime.sleep_for(std::min<Duration>(taken.next_due.value_or(10ms), 100ms), {});
  }
  ASSERT_EQ(taken.jobs.size(), 1u);
  EXPECT_TRUE(taken.jobs[0].forced);
  EXPECT_GT(taken.jobs[0].job.fence, granted.jobs[0].job.fence);
}

}  // namespace
}  // namespace fenceline::test
