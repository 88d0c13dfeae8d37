// Verbs that look at all locks of a namespace, or remove it, never hold the server for long: each call of it looks at a
// bounded number of keys, and leaves a namespace that is whole.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "backends/redis/store_testing.hpp"
#include "base/uuid.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::Value;

constexpr int kMany = 5000;
const Act kAct{"ann", "a test"};

class RedisWalks : public testing::Test {
 protected:
  std::unique_ptr<RedisStore> opened(int at_once) {
    return must(RedisStore::open(runtime_, Log(null_log_sink()), {.url = keys_.url(), .walked_at_once = at_once}));
  }
  static std::string name(int i) {
    std::string digits = std::to_string(i);
    return "l" + std::string(4 - digits.size(), '0') + digits;
  }
  LockHolding taken(const std::string& lock, const std::string& owner, LockMode mode = LockMode::exclusive) {
    const AcquireReply reply = must(
        store_->acquire({.ns = "default", .names = {lock}, .owner = owner, .request = "r", .mode = mode, .ttl = 1h}));
    return {lock, owner, reply.grants.at(0).fence};
  }
  void release(const LockHolding& lock) { must(store_->release({.ns = "default", .locks = {lock}})); }
  void have_many_free_locks() {
    for (int i = 0; i < kMany; ++i) release(taken(name(i), "o"));
  }
  // Calls of a command so far, from scripts or not.
  std::int64_t calls_of(const std::string& command) {
    const std::string stats = admin_(Command("INFO").arg("commandstats")).text;
    const std::size_t at = stats.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::stoll(stats.substr(stats.find('=', at) + 1));
  }
  std::int64_t scripts() { return calls_of("fcall") + calls_of("evalsha"); }
  std::vector<std::string> keys_left() {
    std::vector<std::string> left;
    for (const Value& key : admin_(Command("KEYS").arg(keys_.prefix() + ":{*")).items) left.push_back(key.text);
    return left;
  }
  std::vector<std::string> only_the_trail() const { return {keys_.prefix() + ":{default}:trail"}; }
  NewJob job(const std::string& queue) {
    return {.id = make_uuid7({}, runtime_.random(), runtime_.random()), .queue = queue, .payload = "1"};
  }

  ThreadRuntime runtime_;
  redis::test::Admin admin_{runtime_};
  RedisKeys keys_{"walks"};
  std::unique_ptr<RedisStore> store_ = opened(1000);
};

TEST_F(RedisWalks, HeldLocksAmongManyAreFoundInCallsThatEachLookAtSome) {
  have_many_free_locks();
  for (const int held : {0, 2500, kMany - 1}) taken(name(held), "h");
  for (const int at_once : {1000, 70}) {
    const auto store = opened(at_once);
    const std::int64_t calls = scripts(), read = calls_of("hgetall");
    const LocksReply reply = must(store->locks({.ns = "default", .held = true, .limit = 100}));
    std::vector<std::string> names;
    for (const LockRow& row : reply.locks) names.push_back(row.resource);
    EXPECT_EQ(names, (std::vector{name(0), name(2500), name(kMany - 1)}));
    EXPECT_EQ(reply.next, std::nullopt);
    EXPECT_GE(scripts() - calls, kMany / at_once);
    EXPECT_LE(scripts() - calls, kMany / at_once + 2);
    EXPECT_EQ(calls_of("hgetall") - read, kMany) << "none twice";
  }
  LocksReply page = must(store_->locks({.ns = "default", .held = true, .limit = 2}));
  ASSERT_EQ(page.next, name(2500));
  page = must(store_->locks({.ns = "default", .held = true, .after = *page.next, .limit = 2}));
  ASSERT_EQ(page.locks.size(), 1u);
  EXPECT_EQ(page.locks[0].resource, name(kMany - 1));
  EXPECT_EQ(page.next, std::nullopt);
}

TEST_F(RedisWalks, APageOfAllLocksReadsNoMoreThanItShows) {
  have_many_free_locks();
  const std::int64_t read = calls_of("hgetall");
  const LocksReply page = must(store_->locks({.ns = "default", .limit = 10}));
  EXPECT_EQ(page.locks.size(), 10u);
  EXPECT_EQ(page.next, name(9));
  EXPECT_EQ(calls_of("hgetall") - read, 11);
  int seen = 0;
  const auto in_small_steps = opened(70);
  for (std::string after;;) {
    const LocksReply some =
        must(in_small_steps->locks({.ns = "default", .prefix = "l", .after = after, .limit = 1000}));
    seen += static_cast<int>(some.locks.size());
    if (!some.next) break;
    after = *some.next;
  }
  EXPECT_EQ(seen, kMany);
}

TEST_F(RedisWalks, L2_AFloorNearTheClockIsRaisedInOneCallAndOneFarAheadAfterABoundedLook) {
  have_many_free_locks();
  const Fence last = taken("zz", "a").fence;
  std::int64_t calls = scripts(), read = calls_of("hget");
  const Fence most = last + Duration(kFloorAheadMost).count();
  ASSERT_EQ(must(store_->raise_floor({.ns = "default", .floor = most, .act = kAct})), most);
  EXPECT_EQ(scripts() - calls, 1);
  EXPECT_EQ(calls_of("hget") - read, 0);
  const auto above = [&](const std::string& lock) { return taken(lock, "b").fence; };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(above(name(i)), most + 1);
  // Far ahead of the clock by now: only a fence that was granted allows it.
  const Fence far = most + 60'000'000;
  must(store_->raise_floor({.ns = "default", .floor = most + 1, .act = kAct}));
  EXPECT_EQ(above("zzz"), most + 2);
  calls = scripts();
  EXPECT_EQ(code_of(store_->raise_floor({.ns = "default", .floor = far, .act = kAct})), Code::refused);
  EXPECT_GE(scripts() - calls, kMany / 1000 + 2);
  EXPECT_LE(scripts() - calls, kMany / 1000 + 4);
  EXPECT_EQ(must(store_->raise_floor({.ns = "default", .floor = most + 2, .act = kAct})), most + 2);
  EXPECT_EQ(above("new"), most + 3);
}

TEST_F(RedisWalks, L2_ANamespaceOfManyLocksAndJobsIsRemovedInShortCallsAndLeavesItsTrail) {
  have_many_free_locks();
  const Fence last_of_locks = taken(name(77), "h").fence;
  for (int i = 0; i < 300; ++i) taken("shared", "s" + std::to_string(i), LockMode::shared);
  for (int i = 0; i < 300; ++i) {
    must(store_->acquire({.ns = "default",
                          .names = {name(77)},
                          .owner = "w" + std::to_string(i),
                          .request = "r",
                          .ttl = 1h,
                          .wait = true}));
  }
  std::vector<NewJob> jobs;
  for (int i = 0; i < 1200; ++i) jobs.push_back(job("plain"));
  for (int i = 0; i < 400; ++i) {
    NewJob one = job("mixed");
    one.priority = i % 3;
    if (i % 2) one.group = "g" + std::to_string(i % 40);
    else one.limit_key = "k" + std::to_string(i % 5);
    one.key = std::to_string(i);
    jobs.push_back(one);
  }
  for (std::size_t at = 0; at < jobs.size(); at += 800)
    must(store_->enqueue({.ns = "default",
                          .jobs = {jobs.begin() + static_cast<std::ptrdiff_t>(at),
                                   jobs.begin() + static_cast<std::ptrdiff_t>(at + 800)}}));
  must(store_->set_queue({.ns = "default", .queue = "mixed", .change = {.limit_per_key = 1}, .act = kAct}));
  Fence last_of_jobs = 0;
  for (const char* queue : {"plain", "mixed"}) {
    const ClaimReply claim = must(
        store_->claim({.ns = "default", .queues = {queue}, .owner = "w", .request = queue, .limit = 600, .ttl = 1h}));
    ASSERT_GT(claim.jobs.size(), 10u);
    std::vector<Settlement> ends;
    for (const ClaimedJob& one : claim.jobs) {
      last_of_jobs = std::max(last_of_jobs, one.job.fence);
      if (ends.size() < claim.jobs.size() / 2)
        ends.push_back(
            {.id = one.job.id, .fence = one.job.fence, .outcome = {.kind = OutcomeKind::done, .result = "x"}});
    }
    must(store_->settle({.ns = "default", .owner = "w", .settlements = ends}));
  }
  must(store_->report_worker({.ns = "default", .owner = "w", .queues = {"plain"}, .ttl = 30s}));
  const std::int64_t calls = scripts();
  must(opened(100)->remove_namespace("default", kAct));
  EXPECT_GE(scripts() - calls, (kMany + 300 + 1600) / 100) << "each of them looks at a hundred";
  EXPECT_EQ(keys_left(), only_the_trail());
  const Fence floor = std::stoll(admin_(Command("GET").arg(keys_.prefix() + ":floor")).text);
  EXPECT_GE(floor, last_of_locks);
  EXPECT_GE(floor, last_of_jobs);
  EXPECT_GT(taken(name(77), "new").fence, floor);
  EXPECT_TRUE(must(store_->queues("default")).empty());
}

TEST_F(RedisWalks, WhoWaitsForALockThatIsNotThereIsRemovedAndTold) {
  taken("held", "h");
  for (int i = 0; i < 250; ++i)
    must(store_->acquire({.ns = "default",
                          .names = {"absent" + std::to_string(i), "held"},
                          .owner = "w" + std::to_string(i),
                          .request = "r",
                          .ttl = 1h,
                          .wait = true}));
  // The row of the one lock that is there goes first: those who wait have no lock left.
  admin_(Command("UNLINK").arg(keys_.prefix() + ":{default}:lock:held"));
  std::atomic<int> told = 0;
  const auto watch = store_->watch({.ns = "default", .queues = {}, .stage = "", .locks = {"absent7"}}, [&] { ++told; });
  must(opened(100)->remove_namespace("default", kAct));
  for (int i = 0; told == 0 && i < 1000; ++i) runtime_.sleep_for(10ms, {});
  EXPECT_GT(told, 0);
  EXPECT_EQ(keys_left(), only_the_trail());
}

// Between any two steps others use the namespace. What they leave must be whole: every job that is there can be
// claimed and settled, whatever its group or limit key, and no lock is held by nobody.
TEST_F(RedisWalks, WhatComesInTheMiddleOfARemovalIsWhole) {
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  const auto other = opened(1000);
  std::string trouble;  // of the other task, until it has ended
  std::atomic<bool> in_trouble = false;
  const auto note = [&](const auto& result) {
    if (result || in_trouble) return;
    trouble = result.error().message;
    in_trouble = true;
  };
  Task use = runtime_.spawn("use", [&](std::stop_token) {
    for (int round = 0; !over; ++round, ++rounds) {
      std::vector<NewJob> some;
      for (int i = 0; i < 40; ++i) {
        NewJob one = job("q");
        if (i % 4 == 1) one.group = "g" + std::to_string(i % 3);
        if (i % 4 == 2) one.limit_key = "k" + std::to_string(i % 3);
        if (i % 4 == 3) one.priority = 1;
        some.push_back(one);
      }
      note(other->enqueue({.ns = "default", .jobs = some}));
      note(other->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 2}, .act = kAct}));
      const auto claim = other->claim({.ns = "default",
                                       .queues = {"q"},
                                       .owner = "w",
                                       .request = "r" + std::to_string(round),
                                       .limit = 25,
                                       .ttl = 1h});
      note(claim);
      if (!claim) break;
      std::vector<Settlement> ends;
      for (const ClaimedJob& one : claim->jobs) {
        const OutcomeKind kind = ends.size() % 5 == 4 ? OutcomeKind::given_back : OutcomeKind::done;
        ends.push_back({.id = one.job.id, .fence = one.job.fence, .outcome = {.kind = kind}});
      }
      note(other->settle({.ns = "default", .owner = "w", .settlements = ends}));
      const std::string lock = "l" + std::to_string(round % 7), owner = "o" + std::to_string(round);
      const auto got = other->acquire(
          {.ns = "default", .names = {lock}, .owner = owner, .request = "r", .ttl = 1h, .wait = round % 2 == 0});
      note(got);
      if (got && !got->grants.empty() && round % 3)
        note(other->release({.ns = "default", .locks = {{lock, owner, got->grants[0].fence}}}));
    }
  });
  const auto remover = opened(7);
  for (int i = 0; (i < 60 || rounds < 20) && i < 10'000 && !in_trouble; ++i)
    must(remover->remove_namespace("default", kAct));
  EXPECT_GE(rounds, 20);
  over = true;
  use = Task();
  EXPECT_EQ(trouble, "");

  // What is left runs to its end, though the holder of some is gone.
  must(store_->remove_worker("default", "w"));
  std::set<JobId> unfinished;
  const auto look = [&] {
    unfinished.clear();
    for (std::int64_t after = 0;;) {
      const JobsReply page = must(store_->jobs({.ns = "default", .after = after, .limit = 1000}));
      for (const Job& one : page.jobs)
        if (!is_finished(one.state)) unfinished.insert(one.id);
      if (!page.next) break;
      after = *page.next;
    }
  };
  look();
  for (int i = 0; !unfinished.empty() && i < 200; ++i) {
    std::vector<Settlement> ends;
    for (const JobId& id : unfinished) {
      const auto one = must(store_->job("default", id));
      if (one && one->state == JobState::running)
        ends.push_back({.id = id, .fence = one->fence, .outcome = {.kind = OutcomeKind::done}});
    }
    if (!ends.empty()) must(store_->settle({.ns = "default", .owner = "w", .settlements = ends}));
    must(store_->claim({.ns = "default",
                        .queues = {"q"},
                        .owner = "w",
                        .request = "last" + std::to_string(i),
                        .limit = 100,
                        .ttl = 1h}));
    look();
  }
  EXPECT_TRUE(unfinished.empty()) << unfinished.size() << " jobs can never run";
  for (const QueueRow& row : must(store_->queues("default")))
    EXPECT_EQ(
        row.depth[static_cast<std::size_t>(JobState::ready)] + row.depth[static_cast<std::size_t>(JobState::running)],
        0);
  must(remover->remove_namespace("default", kAct));
  EXPECT_EQ(keys_left(), only_the_trail());
}

}  // namespace
}  // namespace fenceline::test
