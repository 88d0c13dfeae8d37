// J7 and J8 where only this backend can be looked at: what a claim costs behind blocked jobs, in steps of SQLite's
// machine and not in time; counters against counted rows; many claimers at once.
#include "backends/sqlite/gates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "backends/sqlite/opening.hpp"
#include "backends/sqlite/stepped_testing.hpp"
#include "backends/sqlite/testing.hpp"
#include "conformance/differential.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const NewJob kFree{.id = {}, .queue = "q", .payload = "\"free\"", .priority = -10};

// The steps of a claim that finds the one free job behind this many others.
std::int64_t steps_behind(int blocked, void (*block)(SteppedStore&, int)) {
  SteppedStore store;
  block(store, blocked);
  // A first claim may put things in order once, as when jobs have become due.
  const std::vector<ClaimedJob> first = store.claim();
  EXPECT_TRUE(first.empty());
  store.add(kFree);
  const std::vector<ClaimedJob> claimed = store.claim();
  EXPECT_EQ(claimed.size(), 1u);
  for (const ClaimedJob& one : claimed) EXPECT_EQ(one.job.payload, kFree.payload);
  return store.last_steps();
}

void expect_flat(void (*block)(SteppedStore&, int)) {
  const std::int64_t few = steps_behind(100, block);
  const std::int64_t many = steps_behind(100'000, block);
  EXPECT_LE(many, few + few / 10) << "steps behind 100,000 blocked jobs, against " << few << " behind 100";
}

TEST(BlockedJobs, J8_OfAGroupThatRunsMakeNoClaimDearer) {
  expect_flat([](SteppedStore& store, int blocked) {
    store.add({.id = {}, .queue = "q", .group = "g"}, blocked + 1);
    EXPECT_EQ(store.claim().size(), 1u);
  });
}

TEST(BlockedJobs, J8_OfAGroupWhoseHeadIsDelayedMakeNoClaimDearer) {
  expect_flat([](SteppedStore& store, int blocked) {
    store.add({.id = {}, .queue = "q", .delay = 24h, .group = "g"});
    store.add({.id = {}, .queue = "q", .group = "g"}, blocked);
  });
}

TEST(BlockedJobs, J8_OfAFullLimitKeyMakeNoClaimDearer) {
  expect_flat([](SteppedStore& store, int blocked) {
    store.set_limit_per_key(1);
    store.add({.id = {}, .queue = "q", .limit_key = "k"}, blocked + 1);
    EXPECT_EQ(store.claim().size(), 1u);
  });
}

TEST(BlockedJobs, J8_DelayedOnesOfALimitKeyMakeNoClaimDearer) {
  expect_flat([](SteppedStore& store, int blocked) {
    store.set_limit_per_key(1);
    store.add({.id = {}, .queue = "q", .priority = 10, .delay = 24h, .limit_key = "k"}, blocked);
  });
}

TEST(BlockedJobs, J8_DelayedOnesOfAHigherPriorityMakeNoClaimDearer) {
  expect_flat([](SteppedStore& store, int blocked) {
    store.add({.id = {}, .queue = "q", .priority = 10, .delay = 24h}, blocked);
  });
}

// Each has a time of its own, so that no two of them share a row.
TEST(BlockedJobs, J8_AMillionDelayedOnesOfAHigherPriorityMakeNoClaimDearer) {
  const auto block = [](SteppedStore& store, int blocked) {
    store.add({.id = {}, .queue = "q", .priority = 10, .delay = 24h}, blocked, 1us);
  };
  const std::int64_t few = steps_behind(100, block);
  EXPECT_LE(steps_behind(1'000'000, block), few + few / 10);
}

// Of a key under a large limit, with many let out: who comes or goes is compared with the last of them, and they are
// counted.
TEST(BlockedJobs, J8_OneMoreOfALimitKeyCostsAFewStepsForEachThatIsLetOut) {
  const auto steps_of_enqueue = [](int let_out) {
    SteppedStore store;
    store.set_limit_per_key(10'000);
    store.add({.id = {}, .queue = "q", .limit_key = "k"}, let_out);
    store.add({.id = {}, .queue = "q", .limit_key = "k"});
    return store.last_steps();
  };
  const std::int64_t few = steps_of_enqueue(100);
  EXPECT_LE(steps_of_enqueue(5'100), few + 5'000 * 5);
}

// Each settle of a job with a limit key lets the best of those that wait go on, however many they are.
TEST(BlockedJobs, J8_TheEndOfAJobOfALimitKeyLetsTheNextOneOutAtTheSameCost) {
  const auto steps_of_settle = [](int waiting) {
    SteppedStore store;
    store.set_limit_per_key(1);
    store.add({.id = {}, .queue = "q", .limit_key = "k"}, waiting + 1);
    const ClaimedJob claimed = store.claim().at(0);
    store.run(&sqlite::settle,
              SettleRequest{.ns = "default", .owner = "a", .settlements = {{claimed.job.id, claimed.job.fence, {}}}});
    const std::int64_t steps = store.last_steps();
    EXPECT_EQ(store.claim(10).size(), 1u);
    return steps;
  };
  const std::int64_t few = steps_of_settle(100);
  EXPECT_LE(steps_of_settle(50'000), few + few / 10);
}

TEST(BlockedJobs, APlainJobIsGrantedAndSettledWithoutALookAtGatesOfOthers) {
  const auto steps_of_a_thousand = [](bool others) {
    SteppedStore store;
    if (others) {
      store.add({.id = {}, .queue = "q", .key = "k", .group = "g", .limit_key = "l", .tags = {"t"}});
      EXPECT_EQ(store.claim().size(), 1u);
    }
    store.add({.id = {}, .queue = "q"}, 1000);
    SettleRequest settle{.ns = "default", .owner = "a"};
    for (const ClaimedJob& claimed : store.claim(1000))
      settle.settlements.push_back({claimed.job.id, claimed.job.fence, {}});
    std::int64_t steps = store.last_steps();
    EXPECT_EQ(settle.settlements.size(), 1000u);
    store.run(&sqlite::settle, settle);
    return steps + store.last_steps();
  };
  const std::int64_t plain = steps_of_a_thousand(false);
  EXPECT_LE(steps_of_a_thousand(true), plain + 200);
}

// Counters are kept once a call; rows are the truth.
TEST(IdleClaims, OfAQueueWithALimitPerKeyWriteNothing) {
  SteppedStore store;
  store.set_limit_per_key(1);
  store.add({.id = {}, .queue = "q", .delay = 1h, .limit_key = "k"});
  EXPECT_TRUE(store.claim().empty());
  store.clock().advance(1s);
  const std::int64_t before = store.count("SELECT total_changes()");
  EXPECT_TRUE(store.claim().empty());
  EXPECT_EQ(store.count("SELECT total_changes()"), before);
  store.clock().advance(1h);
  EXPECT_EQ(store.claim().size(), 1u);
}

// Each act on many jobs of a limit key chooses once.
TEST(Acts, OnManyJobsOfALimitKeyCostAsMuchForEachAsOnAFew) {
  const auto steps_for_each = [](int jobs) {
    SteppedStore store;
    store.set_limit_per_key(1000);
    store.add({.id = {}, .queue = "q", .limit_key = "k"}, jobs);
    ActRequest act{.ns = "default", .request = "1", .act = {.actor = "ada"}};
    for (int i = 1; i <= jobs; ++i) act.ids.push_back(job_id(static_cast<std::uint64_t>(i)));
    EXPECT_TRUE(store.run(&sqlite::cancel, act).refused.empty());
    std::int64_t steps = store.last_steps();
    act.request = "2";
    EXPECT_TRUE(store.run(&sqlite::retry, act).refused.empty());
    steps += store.last_steps();
    EXPECT_EQ(store.claim(1000).size(), static_cast<std::size_t>(jobs));
    return steps / jobs;
  };
  const std::int64_t few = steps_for_each(50);
  EXPECT_LE(steps_for_each(1000), few + few / 5);
}

TEST(Tidy, LooksAtAJobThatKeepsItsKeyOnceAndNotInEveryStep) {
  SteppedStore store;
  constexpr int kJobs = 500;
  for (int i = 0; i < kJobs; ++i) store.add({.id = {}, .queue = "q", .key = std::to_string(i), .key_for = 24h * 60});
  const PurgeRequest purge{.ns = "default", .queue = "q", .up_to = kAllOfThem, .limit = 50, .act = {.actor = "ada"}};
  for (int cancelled = 0; cancelled < kJobs; cancelled += 50) store.run(&sqlite::purge, purge);
  store.clock().advance(24h * 31);
  const TidyRequest tidy{.ns = "default", .limit = 10};
  EXPECT_TRUE(store.run(&sqlite::tidy, tidy).more) << "one step looks at a hundred";
  const std::int64_t first = store.last_steps();
  for (int step = 0; step < 10; ++step) EXPECT_EQ(store.run(&sqlite::tidy, tidy).removed, 0);
  EXPECT_FALSE(store.run(&sqlite::tidy, tidy).more);
  EXPECT_LT(store.last_steps(), first / 10);
  store.clock().advance(24h * 29);
  std::int64_t removed = 0;
  for (int step = 0; step < kJobs; ++step) removed += store.run(&sqlite::tidy, tidy).removed;
  EXPECT_EQ(removed, kJobs);
}

TEST(Depths, J4_AreWhatCountingTheRowsWouldGive) {
  ManualClock clock;
  ThreadRuntime runtime;
  TemporaryFolder folder;
  const SqliteOptions options{.path = folder / "store.db", .synchronous = SqliteSync::normal};
  MemoryStore oracle(clock);
  {
    const auto store = must(SqliteStore::open(runtime, clock, Log(null_log_sink()), options));
    const DifferentialReport report = run_differential(oracle, *store, clock, {.seed = 77, .operations = 3000});
    EXPECT_FALSE(report.difference) << *report.difference;
  }
  const auto db = sqlite::open_reader(options);
  EXPECT_GT(db->number("SELECT count(*) FROM job").value_or(0), 0);
  EXPECT_EQ(db->number(R"sql(
    SELECT count(*) FROM queue q
    WHERE q.ready <> (SELECT coalesce(sum(more + 1), 0) FROM ready r WHERE r.queue_id = q.id)
      OR q.running <> (SELECT coalesce(sum(r.more + 1), 0) FROM run r
        JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= r.seq) WHERE j.queue_id = q.id)
      OR q.waiting <> (SELECT count(*) FROM waiting w
        JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= w.seq) WHERE j.queue_id = q.id)
      OR q.done <> (SELECT coalesce(sum(d.more + 1), 0) FROM done d
        JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq) WHERE j.queue_id = q.id AND d.state = 3)
      OR q.dead <> (SELECT count(*) FROM done d JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
        WHERE j.queue_id = q.id AND d.state = 4)
      OR q.cancelled <> (SELECT count(*) FROM done d JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
        WHERE j.queue_id = q.id AND d.state = 5))sql"),
            0);
  EXPECT_EQ(db->number(R"sql(
    WITH RECURSIVE number (seq, last, queue_id) AS (
      SELECT seq, seq + more, queue_id FROM job UNION ALL SELECT seq + 1, last, queue_id FROM number WHERE seq < last)
    SELECT count(*) FROM number j WHERE 1 <>
      (SELECT count(*) FROM run WHERE j.seq BETWEEN seq AND seq + more) +
      (SELECT count(*) FROM done WHERE j.seq BETWEEN seq AND seq + more) +
      (SELECT count(*) FROM waiting w WHERE w.seq = j.seq) +
      (SELECT count(*) FROM ready r WHERE r.queue_id = j.queue_id AND j.seq BETWEEN r.seq AND r.seq + r.more))sql"),
            0)
      << "a job stands in exactly one table";
  EXPECT_EQ(db->number("SELECT count(*) FROM claim c WHERE c.live <> (SELECT coalesce(sum(more + 1), 0) FROM run r "
                       "WHERE r.claim_id = c.id)"),
            0);
  EXPECT_EQ(db->number(R"sql(
    SELECT count(*) FROM member m WHERE EXISTS (SELECT 1 FROM done d WHERE d.seq = m.seq)
      OR NOT EXISTS (SELECT 1 FROM job j WHERE j.seq = m.seq))sql"),
            0)
      << "a group has its unfinished jobs";
  EXPECT_GT(db->number("SELECT count(*) FROM fenceline_item").value_or(0), 0);
  EXPECT_EQ(
      db->number("SELECT count(*) FROM fenceline_item i WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.seq = i.seq)"), 0)
      << "an item goes with its job";
  EXPECT_GT(db->number("SELECT count(*) FROM fenceline_schedule WHERE ticks > 0").value_or(0), 0);
  EXPECT_EQ(db->number(R"sql(
    SELECT count(*) FROM fenceline_schedule s WHERE s.ticks <>
      (SELECT count(*) FROM fenceline_tick t WHERE t.ns_id = s.ns_id AND t.schedule = s.name) +
      (SELECT count(*) FROM fenceline_tick_range r WHERE r.ns_id = s.ns_id AND r.schedule = s.name)
      OR s.fired_to < s.bar OR s.fired_to <
      (SELECT coalesce(max(tick), 0) FROM fenceline_tick t WHERE t.ns_id = s.ns_id AND t.schedule = s.name))sql"),
            0);
}

TEST(RemovedNamespaces, LeaveNothingButTheirNamesAndTheTrail) {
  ManualClock clock;
  ThreadRuntime runtime;
  TemporaryFolder folder;
  const SqliteOptions options{.path = folder / "store.db", .synchronous = SqliteSync::normal};
  MemoryStore oracle(clock);
  const auto store = must(SqliteStore::open(runtime, clock, Log(null_log_sink()), options));
  run_differential(oracle, *store, clock, {.seed = 78, .operations = 2000});
  const auto db = sqlite::open_reader(options);
  std::vector<std::string> tables;
  {
    auto rows = db->query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    while (rows.next()) tables.push_back(rows.text(0));
  }
  std::erase_if(tables, [](const std::string& name) {
    return name == "meta" || name == "namespace" || name == "home" || name == "queue" || name == "trail";
  });
  const auto rows_of = [&](const std::string& table) { return db->pragma_text("SELECT count(*) FROM " + table); };
  EXPECT_GT(
      std::count_if(tables.begin(), tables.end(), [&](const std::string& table) { return rows_of(table) != "0"; }), 8)
      << "the stream has filled most of them";
  for (const char* ns : {"one", "two", "none", "untouched"})
    must(store->remove_namespace(ns, {.actor = "ada", .reason = "over"}));
  for (const std::string& table : tables) EXPECT_EQ(rows_of(table), "0") << table;
  EXPECT_EQ(db->pragma_text("SELECT coalesce(sum(ready + running + done + dead + cancelled), 0) FROM queue"), "0");
  EXPECT_EQ(db->pragma_text("SELECT coalesce(sum(running_most + per_key_most), 0) FROM home"), "0");
}

// Thirty-two claimers on real threads; never two at work at once.
class ManyClaimers : public SqliteFile {
 protected:
  void expect_one_at_a_time(const NewJob& like, std::uint64_t jobs) {
    const auto store = open();
    EnqueueRequest request{.ns = "default"};
    for (std::uint64_t i = 1; i <= jobs; ++i) {
      NewJob job = like;
      job.id = job_id(i);
      request.jobs.push_back(job);
    }
    prepare(*store);
    must(store->enqueue(request));
    std::atomic<int> at_work = 0;
    std::atomic<int> most_at_work = 0;
    std::atomic<std::uint64_t> done = 0;
    {
      std::vector<Task> claimers;
      for (int c = 0; c < 32; ++c) {
        claimers.push_back(runtime_.spawn("claimer", [&, c](std::stop_token) {
          const std::string owner = "owner-" + std::to_string(c);
          for (int i = 0; done < jobs && i < 100'000; ++i) {
            const auto reply = store->claim(a_claim(owner, std::to_string(i), 5));
            if (!reply || reply->jobs.empty()) continue;
            SettleRequest settle{.ns = "default", .owner = owner};
            const int now = at_work += static_cast<int>(reply->jobs.size());
            int most = most_at_work;
            while (now > most && !most_at_work.compare_exchange_weak(most, now)) {
            }
            for (const ClaimedJob& claimed : reply->jobs)
              settle.settlements.push_back({claimed.job.id, claimed.job.fence, {}});
            at_work -= static_cast<int>(reply->jobs.size());
            EXPECT_TRUE(must(store->settle(settle)).refused.empty());
            done += reply->jobs.size();
          }
        }));
      }
      for (Task& claimer : claimers) claimer.join();
    }
    EXPECT_EQ(done, jobs);
    EXPECT_EQ(most_at_work, 1);
  }
  virtual void prepare(SqliteStore&) {}
};

TEST_F(ManyClaimers, J7_NeverTwoOfAGroup) { expect_one_at_a_time({.id = {}, .queue = "q", .group = "g"}, 150); }

class ManyClaimersOnALimit : public ManyClaimers {
 protected:
  void prepare(SqliteStore& store) override {
    must(store.set_queue({.ns = "default", .queue = "q", .change = {.limit = 1}, .act = {.actor = "ada"}}));
  }
};
TEST_F(ManyClaimersOnALimit, J7_NeverTwoInAQueueWithALimitOfOne) {
  expect_one_at_a_time({.id = {}, .queue = "q"}, 150);
}

class ManyClaimersOnAKey : public ManyClaimers {
 protected:
  void prepare(SqliteStore& store) override {
    must(store.set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = {.actor = "ada"}}));
  }
};
TEST_F(ManyClaimersOnAKey, J7_NeverTwoOfALimitKey) {
  expect_one_at_a_time({.id = {}, .queue = "q", .limit_key = "k"}, 150);
}

}  // namespace
}  // namespace fenceline::test
