// Long lists on a Redis server: many jobs are looked at in many short scripts, since a script holds up everybody else;
// and what is over leaves nothing behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const Act kListsAct{"ann", "because"};
constexpr Duration kListsPatience = 60s;  // of calls with many jobs, on a machine that has much else to do

class RedisLists : public testing::Test {
 protected:
  NewJob new_job(const std::string& queue = "q") {
    NewJob job;
    job.id = make_uuid7(clock_.wall_now(), 0, ++last_);
    job.queue = queue;
    return job;
  }
  void add(std::vector<NewJob> jobs) {
    must(store_->enqueue({.ns = "default", .jobs = std::move(jobs), .timeout = kListsPatience}));
  }
  std::vector<JobId> add_plain(int count, const std::string& queue = "q") {
    std::vector<NewJob> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(new_job(queue));
    std::vector<JobId> ids;
    for (const NewJob& job : jobs) ids.push_back(job.id);
    add(std::move(jobs));
    return ids;
  }
  std::vector<ClaimedJob> claim(int limit, const std::string& queue = "q") {
    return must(store_->claim({.ns = "default",
                               .queues = {queue},
                               .owner = "a",
                               .request = std::to_string(++last_),
                               .limit = limit,
                               .ttl = 30s,
                               .timeout = kListsPatience}))
        .jobs;
  }
  void end(const std::vector<ClaimedJob>& jobs, const Outcome& outcome = {.kind = OutcomeKind::done, .result = "r"}) {
    SettleRequest request{.ns = "default", .owner = "a", .settlements = {}, .timeout = kListsPatience};
    for (const ClaimedJob& job : jobs) request.settlements.push_back({job.job.id, job.job.fence, outcome});
    EXPECT_TRUE(must(store_->settle(request)).refused.empty());
  }
  std::int64_t tidied(int limit = 1000) {
    std::int64_t removed = 0;
    for (int step = 0; step < 100; ++step) {
      const TidyReply reply = must(store_->tidy({.ns = "default", .limit = limit, .timeout = kListsPatience}));
      removed += reply.removed;
      if (!reply.more) return removed;
    }
    ADD_FAILURE() << "tidy never ends";
    return removed;
  }
  // Calls of scripts and functions so far, anybody's.
  std::int64_t scripts_run() {
    const std::string stats = admin_(redis::Command("INFO").arg("commandstats")).text;
    std::int64_t calls = 0;
    for (const std::string name : {"cmdstat_fcall:calls=", "cmdstat_evalsha:calls=", "cmdstat_eval:calls="}) {
      if (const std::size_t at = stats.find(name); at != std::string::npos)
        calls += std::strtoll(stats.c_str() + at + name.size(), nullptr, 10);
    }
    return calls;
  }
  std::set<std::string> keys_left() {
    std::set<std::string> left;
    for (const redis::Value& key : admin_(redis::Command("KEYS").arg(keys_.prefix() + ":*")).items)
      left.insert(key.text.substr(keys_.prefix().size() + 1));
    return left;
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  RedisKeys keys_{"lists"};
  redis::test::Admin admin_{runtime_};
  std::unique_ptr<RedisStore> store_ = keys_.open(runtime_, clock_);
  std::uint64_t last_ = 0;
};

TEST_F(RedisLists, AFilterThatFindsLittleGoesInShortScripts) {
  add_plain(5'000);
  NewJob rare = new_job();
  rare.tags = {"rare"};
  add({rare});
  add_plain(5'000);
  const std::int64_t before = scripts_run();
  const JobsReply page = must(store_->jobs({.ns = "default", .tag = "rare", .timeout = kListsPatience}));
  ASSERT_EQ(page.jobs.size(), 1u);
  EXPECT_EQ(page.jobs[0].id, rare.id);
  EXPECT_FALSE(page.next);
  EXPECT_GE(scripts_run() - before, 10'000 / 4096) << "at most some thousand jobs each";
  EXPECT_EQ(must(store_->jobs({.ns = "default", .state = JobState::running})).jobs.size(), 0u);
}

TEST_F(RedisLists, FewThatRunWaitOrEndedBadlyAreFoundAmongManyByOneScript) {
  add_plain(10'000);
  const std::vector<ClaimedJob> batch = claim(5);
  add_plain(3, "late");
  const std::vector<ClaimedJob> last = claim(3, "late");
  end({last[0]}, {.kind = OutcomeKind::dead, .error = "no"});
  must(store_->begin_effect(
      {.ns = "default", .job = last[1].job.id, .fence = last[1].job.fence, .name = "e", .digest = "d", .call = "c"}));
  must(store_->finish_effect({.ns = "default",
                              .job = last[1].job.id,
                              .fence = last[1].job.fence,
                              .name = "e",
                              .call = "c",
                              .end = EffectEnd::held}));
  const auto listed = [&](JobState state, std::int64_t after = 0, int limit = 100) {
    const std::int64_t before = scripts_run();
    const JobsReply page = must(
        store_->jobs({.ns = "default", .state = state, .after = after, .limit = limit, .timeout = kListsPatience}));
    EXPECT_EQ(scripts_run() - before, 1) << to_string(state);
    for (const Job& job : page.jobs) EXPECT_EQ(job.state, state);
    return page;
  };
  const JobsReply running = listed(JobState::running);
  ASSERT_EQ(running.jobs.size(), 6u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(running.jobs[i].id, batch[i].job.id) << "in the order of enqueue";
  EXPECT_EQ(running.jobs[5].id, last[2].job.id);
  EXPECT_FALSE(running.next);
  const JobsReply page = listed(JobState::running, 0, 4);
  ASSERT_TRUE(page.next);
  EXPECT_EQ(listed(JobState::running, *page.next, 4).jobs.size(), 2u);
  EXPECT_EQ(listed(JobState::dead).jobs.front().id, last[0].job.id);
  EXPECT_EQ(listed(JobState::waiting).jobs.front().id, last[1].job.id);
  EXPECT_TRUE(listed(JobState::cancelled).jobs.empty());
  // Ready ones of a queue, in every place that a ready job can have.
  NewJob first = new_job("few"), second = new_job("few"), urgent = new_job("few"), plain = new_job("few"),
         gone = new_job("few");
  first.group = second.group = "g";
  urgent.priority = 9;
  add({first, second, urgent, gone, plain});
  must(store_->cancel({.ns = "default", .ids = {gone.id}, .request = "x", .act = kListsAct}));
  const std::int64_t before = scripts_run();
  const JobsReply few =
      must(store_->jobs({.ns = "default", .queue = "few", .state = JobState::ready, .timeout = kListsPatience}));
  EXPECT_EQ(scripts_run() - before, 1);
  ASSERT_EQ(few.jobs.size(), 4u);
  EXPECT_EQ(few.jobs[0].id, first.id);
  EXPECT_EQ(few.jobs[1].id, second.id);
  EXPECT_EQ(few.jobs[2].id, urgent.id);
  EXPECT_EQ(few.jobs[3].id, plain.id);
  // What an older version made to wait is in no set: all are looked through then.
  admin_(redis::Command("DEL").arg(keys_.prefix() + ":{default}:waiting"));
  EXPECT_EQ(
      must(store_->jobs({.ns = "default", .state = JobState::waiting, .timeout = kListsPatience})).jobs.front().id,
      last[1].job.id);
  // And one that it let go on is still there, so that as many are there as wait.
  const JobId other = last[2].job.id;
  admin_(redis::Command("SADD")
             .arg(keys_.prefix() + ":{default}:waiting")
             .arg(std::string(reinterpret_cast<const char*>(other.bytes.data()), other.bytes.size())));
  const JobsReply waiting =
      must(store_->jobs({.ns = "default", .state = JobState::waiting, .timeout = kListsPatience}));
  ASSERT_EQ(waiting.jobs.size(), 1u);
  EXPECT_EQ(waiting.jobs.front().id, last[1].job.id);
}

TEST_F(RedisLists, APageOfLargePayloadsGoesInShortScripts) {
  std::vector<JobId> ids;
  for (int i = 0; i < 12; ++i) {
    NewJob large = new_job();
    large.payload = '"' + std::string(1'000'000, static_cast<char>('a' + i)) + '"';
    ids.push_back(large.id);
    add({large});
  }
  const std::int64_t before = scripts_run();
  const JobsReply page =
      must(store_->jobs({.ns = "default", .limit = 10, .with_payload = true, .timeout = kListsPatience}));
  EXPECT_GE(scripts_run() - before, 2);
  ASSERT_EQ(page.jobs.size(), 10u);
  for (std::size_t i = 0; i < page.jobs.size(); ++i) {
    EXPECT_EQ(page.jobs[i].id, ids[i]);
    EXPECT_EQ(page.jobs[i].payload[1], static_cast<char>('a' + i));
  }
  ASSERT_TRUE(page.next);
  const JobsReply rest = must(store_->jobs({.ns = "default", .after = *page.next, .limit = 10}));
  ASSERT_EQ(rest.jobs.size(), 2u);
  EXPECT_EQ(rest.jobs[1].id, ids[11]);
  EXPECT_EQ(rest.jobs[1].payload, "");
}

TEST_F(RedisLists, PagesAndIdsGoOverWhatTidyTookOut) {
  std::vector<JobId> old = add_plain(3'000);
  const std::vector<JobId> kept = add_plain(10, "r");
  for (int i = 0; i < 3; ++i) end(claim(1'000));
  add_plain(1'500);
  const JobId last = add_plain(1, "r").front();
  clock_.advance(8 * 24h);
  EXPECT_EQ(tidied(), 3'000);
  const JobsReply page = must(store_->jobs({.ns = "default", .queue = "r"}));
  ASSERT_EQ(page.jobs.size(), kept.size() + 1);
  EXPECT_EQ(page.jobs.back().id, last);
  JobId all;
  all.bytes.fill(255);
  EXPECT_EQ(must(store_->ids({.ns = "default", .first = {}, .last = all, .limit = 1000})).front(), kept.front());
  EXPECT_EQ(must(store_->ids({.ns = "default", .first = last, .last = last})), std::vector{last});
  EXPECT_TRUE(must(store_->ids({.ns = "default", .first = old.front(), .last = old.back()})).empty());
  EXPECT_EQ(admin_(redis::Command("GET").arg(keys_.prefix() + ":{default}:order_first")).text, "2")
      << "where lists begin";
}

TEST_F(RedisLists, APurgeFindsTheFewThatAreIdleAmongManyThatAreNot) {
  add_plain(3'000);
  for (int i = 0; i < 3; ++i) end(claim(1'000));
  add_plain(1'500, "r");
  const std::vector<JobId> idle = add_plain(5);
  add_plain(1'500, "r");
  PurgeReply reply = must(store_->purge(
      {.ns = "default", .queue = "q", .up_to = kAllOfThem, .limit = 3, .act = kListsAct, .timeout = kListsPatience}));
  EXPECT_EQ(reply.cancelled, 3);
  EXPECT_TRUE(reply.more);
  reply = must(store_->purge({.ns = "default",
                              .queue = "q",
                              .after = reply.next,
                              .up_to = kAllOfThem,
                              .limit = 3,
                              .act = kListsAct,
                              .timeout = kListsPatience}));
  EXPECT_EQ(reply.cancelled, 2);
  EXPECT_FALSE(reply.more);
  const QueueRow row = must(store_->queues("default")).front();
  EXPECT_EQ(row.queue, "q");
  EXPECT_EQ(row.depth_of(JobState::cancelled), 5);
  EXPECT_EQ(must(store_->job("default", idle.back()))->state, JobState::cancelled);
  EXPECT_EQ(row.depth_of(JobState::ready), 0);
}

TEST_F(RedisLists, JobsOfAFullLimitKeyAreLetGoInStepsWhenTheLimitIsTakenBack) {
  must(store_->set_queue(
      {.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = kListsAct, .timeout = kListsPatience}));
  std::vector<NewJob> jobs;
  for (int i = 0; i < 1'300; ++i) {
    jobs.push_back(new_job());
    jobs.back().limit_key = i % 2 == 0 ? "even" : "odd";
  }
  add(jobs);
  EXPECT_EQ(claim(300).size(), 2u);
  const std::int64_t before = scripts_run();
  must(store_->set_queue(
      {.ns = "default", .queue = "q", .change = {.limit_per_key = 0}, .act = kListsAct, .timeout = kListsPatience}));
  EXPECT_GE(scripts_run() - before, 3);
  std::size_t granted = 0;
  for (int i = 0; i < 20 && granted < 1'298; ++i) granted += claim(300).size();
  EXPECT_EQ(granted, 1'298u);
}

TEST_F(RedisLists, J8_WhatACallerThatIsGoneLeftParkedIsLetGoByClaims) {
  must(store_->set_queue(
      {.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = kListsAct, .timeout = kListsPatience}));
  std::vector<NewJob> jobs;
  for (int i = 0; i < 1'200; ++i) {
    jobs.push_back(new_job());
    jobs.back().limit_key = i < 1'000 ? "k" : "k" + std::to_string(i);
  }
  add(jobs);
  EXPECT_EQ(claim(300).size(), 201u);
  // As the script of set_queue does it when the limit is taken back, before the steps that follow.
  admin_(redis::Command("HDEL").arg(keys_.prefix() + ":{default}:queues").arg("q"));
  admin_(redis::Command("HSET").arg(keys_.prefix() + ":{default}:unparking").arg("q").arg("0"));
  std::size_t granted = 0;
  for (int i = 0; i < 10 && granted < 999; ++i) granted += claim(300).size();
  EXPECT_EQ(granted, 999u);
  EXPECT_EQ(admin_(redis::Command("EXISTS").arg(keys_.prefix() + ":{default}:unparking")).integer, 0);
}

TEST_F(RedisLists, APurgeAmongClaimsLeavesNoJobBehindAndTakesNoneThatRuns) {
  add_plain(600);
  std::atomic<std::int64_t> done = 0;
  std::int64_t cancelled = 0;
  {
    const auto other = keys_.open(runtime_, clock_);
    const Task worker = runtime_.spawn("worker", [&](std::stop_token) {
      for (int request = 0;; ++request) {
        const auto jobs = must(other->claim({.ns = "default",
                                             .queues = {"q"},
                                             .owner = "w",
                                             .request = std::to_string(request),
                                             .limit = 7,
                                             .ttl = 30s}))
                              .jobs;
        if (jobs.empty()) return;
        SettleRequest settle{.ns = "default", .owner = "w"};
        for (const ClaimedJob& job : jobs) settle.settlements.push_back({job.job.id, job.job.fence, {}});
        EXPECT_TRUE(must(other->settle(settle)).refused.empty()) << "a purge takes no job that runs";
        done += static_cast<std::int64_t>(jobs.size());
      }
    });
    PurgeReply step{.more = true};
    while (step.more) {
      step = must(store_->purge({.ns = "default",
                                 .queue = "q",
                                 .after = step.next,
                                 .up_to = kAllOfThem,
                                 .limit = 5,
                                 .act = kListsAct,
                                 .timeout = kListsPatience}));
      cancelled += step.cancelled;
    }
  }
  EXPECT_EQ(done + cancelled, 600);
  const QueueRow row = must(store_->queues("default")).front();
  EXPECT_EQ(row.depth_of(JobState::done), done);
  EXPECT_EQ(row.depth_of(JobState::cancelled), cancelled);
}

TEST_F(RedisLists, AFullServerTakesNoNewJobsButLosesNoneThatItHas) {
  add_plain(4);
  NewJob grouped = new_job();
  grouped.group = "g";
  add({grouped});
  end(claim(1));
  clock_.advance(7 * 24h);
  const std::vector<ClaimedJob> jobs = claim(4);
  ASSERT_EQ(jobs.size(), 4u);
  const JobId ready = add_plain(1).front();
  BeginEffectRequest begin{
      .ns = "default", .job = jobs[0].job.id, .fence = jobs[0].job.fence, .name = "mail", .digest = "d", .call = "c"};
  must(store_->begin_effect(begin));
  {
    const redis::test::Full full(admin_);
    const Result<EnqueueReply> added = store_->enqueue({.ns = "default", .jobs = {new_job()}});
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Code::full);
    const Result<ClaimReply> claimed =
        store_->claim({.ns = "default", .queues = {"q"}, .owner = "b", .request = "b", .ttl = 30s});
    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Code::full);
    ExtendRequest extend{.ns = "default", .owner = "a", .ttl = 30s};
    for (const ClaimedJob& job : jobs) extend.jobs.push_back({job.job.id, job.job.fence});
    EXPECT_TRUE(must(store_->extend(extend)).refused.empty());
    must(store_->finish_effect({.ns = "default",
                                .job = begin.job,
                                .fence = begin.fence,
                                .name = "mail",
                                .call = "c",
                                .end = EffectEnd::done,
                                .result = "x",
                                .exit_status = {}}));
    end(jobs);
    EXPECT_EQ(tidied(), 1) << "which makes room";
    EXPECT_EQ(must(store_->jobs({.ns = "default"})).jobs.size(), 5u);
  }
  const QueueRow row = must(store_->queues("default")).front();
  EXPECT_EQ(row.depth, (std::array<std::int64_t, 6>{1, 0, 0, 4, 0, 0}));
  EXPECT_EQ(claim(10).at(0).job.id, ready);
}

TEST_F(RedisLists, WhatIsOverLeavesNothingBehind) {
  const std::set<std::string> none = keys_left();
  std::vector<NewJob> jobs;
  for (int i = 0; i < 40; ++i) {
    NewJob job = new_job(i % 4 == 0 ? "r" : "q");
    if (i % 3 == 0) job.group = "g" + std::to_string(i % 2);
    if (i % 5 == 0) job.limit_key = "l";
    if (i % 7 == 0) job.key = "k" + std::to_string(i), job.key_for = 40 * 24h;
    if (i % 8 == 1) job.stage = "review";
    job.tags = {"t"};
    job.priority = i % 3;
    jobs.push_back(job);
  }
  add(jobs);
  NewJob alias = jobs[7];
  alias.id = new_job().id;
  add({alias});
  must(store_->open_batch({.ns = "default", .name = "monday"}));
  must(store_->set_queue({.ns = "default",
                          .queue = "q",
                          .change = {.limit = 3, .limit_per_key = 1},
                          .act = kListsAct,
                          .timeout = kListsPatience}));
  for (int round = 0; round < 60; ++round) {
    for (const std::string queue : {"q", "r"}) {
      const std::vector<ClaimedJob> claimed = claim(3, queue);
      for (const ClaimedJob& job : claimed) {
        const Note note{.id = job.job.id, .fence = job.job.fence, .progress = Progress{50, "half"}, .log = "words\n"};
        must(store_->record({.ns = "default", .notes = {note}}));
        BeginEffectRequest begin{.ns = "default",
                                 .job = job.job.id,
                                 .fence = job.job.fence,
                                 .name = "mail",
                                 .digest = "d",
                                 .call = "c",
                                 .in_doubt = InDoubt::repeat};
        must(store_->begin_effect(begin));
        must(store_->finish_effect({.ns = "default",
                                    .job = job.job.id,
                                    .fence = job.job.fence,
                                    .name = "mail",
                                    .call = "c",
                                    .end = EffectEnd::done,
                                    .result = "x",
                                    .exit_status = {}}));
      }
      end(claimed, {.kind = round % 4 == 0 ? OutcomeKind::failed : OutcomeKind::done, .result = "r", .error = "e"});
    }
    clock_.advance(1min);
  }
  must(
      store_->purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kListsAct, .timeout = kListsPatience}));
  must(store_->set_queue({.ns = "default",
                          .queue = "q",
                          .change = {.limit = 0, .limit_per_key = 0},
                          .act = kListsAct,
                          .timeout = kListsPatience}));
  clock_.advance(60 * 24h);
  EXPECT_EQ(tidied(7), 40);
  // The last numbers that were given, and what people did.
  const std::set<std::string> allowed{"layout",
                                      "floor",
                                      "spaces",
                                      "{default}:last",
                                      "{default}:batch_number",
                                      "{default}:fence",
                                      "{default}:effect_number",
                                      "{default}:trail",
                                      "{default}:order_first"};
  for (const std::string& key : keys_left()) {
    const bool is_claim =
        key.starts_with("{default}:claim:");  // these expire by the server's clock, which a test does not move
    EXPECT_TRUE(allowed.contains(key) || none.contains(key) || is_claim) << key;
  }
}

}  // namespace
}  // namespace fenceline::test
