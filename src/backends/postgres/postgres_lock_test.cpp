// Locks on a real server: races between sessions, what a pair costs the tables and the disk, who is told, and whose
// rights are enough. What every store does is in the conformance suite; fences of locks at guards are in
// postgres_lock_guard_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <map>
#include <random>

#include "backends/postgres/grants.hpp"
#include "backends/postgres/older_schema.hpp"
#include "backends/postgres/pool.hpp"
#include "backends/postgres/testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresLocks : public testing::Test {
 protected:
  PostgresLocks() : store_(opened(schema_.url())) {}

  std::unique_ptr<PostgresStore> opened(const std::string& url) {
    return must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = url}));
  }
  AcquireRequest asking(std::vector<std::string> names) {
    const std::string number = std::to_string(++requests_);
    return {.ns = "default",
            .names = std::move(names),
            .owner = "o" + number,
            .request = "r" + number,
            .ttl = 30s,
            .pattern = "item",
            .place = "here:1"};
  }
  static ReleaseRequest releasing(const AcquireRequest& asked, const AcquireReply& got) {
    ReleaseRequest request{.ns = asked.ns, .locks = {}};
    for (const LockGrant& grant : got.grants) request.locks.push_back({grant.resource, asked.owner, grant.fence});
    return request;
  }
  Fence pair(PostgresStore& store, const std::string& name) {
    const AcquireRequest asked = asking({name});
    const AcquireReply got = must(store.acquire(asked));
    if (got.grants.size() != 1)
      throw std::runtime_error(name + " was not granted: " + std::string(to_string(got.held->reason)));
    if (!must(store.release(releasing(asked, got))).refused.empty())
      throw std::runtime_error(name + " was not released");
    return got.grants.front().fence;
  }
  std::int64_t number(const std::string& query) {
    return must(looks_.run(postgres::Statement{query}, {}, postgres::CallKind::look, 10s)).integer(0, 0);
  }
  std::string ours(const std::string& table) const { return schema_.name() + "." + table; }
  // Another client of the server.
  std::unique_ptr<postgres::Connection> session() {
    return must(
        postgres::Connection::connect(runtime_, must(postgres::parse_dsn(schema_.url())), runtime_.now() + 10s));
  }
  bool script(postgres::Connection& in, const std::string& sql) {
    return in.script(sql, runtime_.now() + 20s).fate == postgres::Reply::Fate::answered;
  }
  void wait_until_somebody_waits() {
    const std::string waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%" +
                              schema_.name() + "%'";
    for (const Instant given_up = runtime_.now() + 20s; number(waits) == 0;) {
      if (runtime_.now() > given_up) throw std::runtime_error("nobody waits");
      runtime_.sleep_for(2ms, {});
    }
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"locks"};
  std::unique_ptr<PostgresStore> store_;
  postgres::Pool looks_{runtime_, must(postgres::parse_dsn(schema_.url())), nullptr};
  std::atomic<int> requests_ = 0;
};

TEST_F(PostgresLocks, L5_OfTwoSessionsThatRaceForANameOneIsGranted) {
  constexpr int kRounds = 1'000;
  const auto other = opened(schema_.url());
  std::vector<int> granted(kRounds);
  std::vector<Fence> fences(kRounds);
  std::atomic<int> failed = 0;
  std::barrier<> together(2);
  const auto race = [&](PostgresStore& store, int me) {
    for (int round = 0; round < kRounds; ++round) {
      together.arrive_and_wait();
      const AcquireRequest asked = asking({"one"});
      const Result<AcquireReply> got = store.acquire(asked);
      if (!got) ++failed;
      together.arrive_and_wait();
      if (!got || got->grants.empty()) continue;
      granted[static_cast<std::size_t>(round)] += me;
      fences[static_cast<std::size_t>(round)] = got->grants.front().fence;
      if (!store.release(releasing(asked, *got))) ++failed;
    }
  };
  Task second = runtime_.spawn("second", [&](const std::stop_token&) { race(*other, 2); });
  race(*store_, 1);
  second.join();
  EXPECT_EQ(failed, 0);
  for (int round = 0; round < kRounds; ++round) {
    const auto at = static_cast<std::size_t>(round);
    ASSERT_TRUE(granted[at] == 1 || granted[at] == 2) << "round " << round << " was granted to " << granted[at];
    if (round > 0) {
      ASSERT_GT(fences[at], fences[at - 1]);
    }
  }
}

TEST_F(PostgresLocks, L5_SeveralAtOnceInAnyOrderNeverMeetADeadlock) {
  const std::string deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
  const std::int64_t deadlocks_before = number(deadlocks);  // of other tests
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  std::map<std::string, std::atomic<int>> holders;
  for (const std::string& name : names) holders[name] = 0;
  std::atomic<int> granted = 0;
  std::atomic<int> broken = 0;
  std::vector<std::string> errors(6);
  const auto storm = [&](int me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    for (int i = 0; i < 120; ++i) {
      std::vector<std::string> some;
      for (const std::string& name : names) {
        if (random() % 2 == 0) some.push_back(name);
      }
      if (some.empty()) continue;
      AcquireRequest asked = asking(some);
      asked.wait = random() % 4 == 0;
      const Result<AcquireReply> got = store->acquire(asked);
      if (!got) {
        errors[static_cast<std::size_t>(me)] = got.error().message;
        return;
      }
      if (got->grants.empty()) {
        if (asked.wait &&
            !store->withdraw(
                {.ns = "default", .names = some, .owner = asked.owner, .request = asked.request, .ttl = 1s}))
          ++broken;
        continue;
      }
      ++granted;
      for (const std::string& name : some) {
        if (++holders[name] != 1) ++broken;
      }
      // Renewed and released in the other order.
      ReleaseRequest back = releasing(asked, *got);
      std::ranges::reverse(back.locks);
      const Result<RenewReply> renewed = store->renew({.ns = "default", .locks = back.locks, .ttl = 30s});
      if (!renewed || !renewed->refused.empty()) ++broken;
      for (const std::string& name : some) --holders[name];
      const Result<ReleaseReply> released = store->release(back);
      if (!released || !released->refused.empty()) ++broken;
    }
  };
  std::vector<Task> tasks;
  for (int me = 0; me < 6; ++me)
    tasks.push_back(runtime_.spawn("storm", [&storm, me](const std::stop_token&) { storm(me); }));
  for (Task& task : tasks) task.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(broken, 0);
  EXPECT_GT(granted, 50);
  EXPECT_EQ(number(deadlocks), deadlocks_before);
}

TEST_F(PostgresLocks, APlainPairLeavesNoIndexEntryNoKeyAndNothingToTidy) {
  pair(*store_, "hot");
  const auto size = [&] {
    return number("select pg_relation_size('" + ours("lock_pkey") + "') + pg_relation_size('" + ours("lock") + "')");
  };
  // While a snapshot of somebody else's lasts (an analysis by autovacuum is enough), versions cannot be cleared away:
  // then another round tells.
  bool grew = true;
  for (int round = 0; grew && round < 5; ++round) {
    const std::int64_t before = size();
    for (int i = 0; i < 500; ++i) pair(*store_, "hot");
    grew = size() > before + 2 * 8192;
  }
  EXPECT_FALSE(grew);
  EXPECT_EQ(number("select count(*) from " + ours("superseded")), 1);  // of the first grant
  EXPECT_EQ(number("select count(*) from " + ours("lock_look")), 1);
  EXPECT_EQ(number("select count(*) from " + ours("owner")), 0);
}

// By how far the log was flushed when the call had its answer.
TEST_F(PostgresLocks, AGrantAndARenewalAreOnDiskWhenTheyAreAnsweredAndAReleaseNeedNotBe) {
  const std::string written = "select (pg_current_wal_insert_lsn() - '0/0')::bigint";
  const std::string flushed = "select (pg_current_wal_flush_lsn() - '0/0')::bigint";
  int unflushed = 0;
  for (int i = 0; i < 20; ++i) {
    const AcquireRequest asked = asking({"disk"});
    std::int64_t at = number(written);
    const AcquireReply got = must(store_->acquire(asked));
    ASSERT_EQ(got.grants.size(), 1u);
    EXPECT_GT(number(flushed), at);
    at = number(written);
    ASSERT_TRUE(
        must(store_->renew({.ns = "default", .locks = releasing(asked, got).locks, .ttl = 30s})).refused.empty());
    EXPECT_GT(number(flushed), at);
    at = number(written);
    must(store_->release(releasing(asked, got)));
    if (number(flushed) <= at) ++unflushed;
  }
  EXPECT_GT(unflushed, 0);
}

TEST_F(PostgresLocks, OnlyWhoWaitsIsToldOfAReleaseAndEverybodyOfABreak) {
  pair(*store_, "quiet");
  std::atomic<int> quiet = 0, waited = 0, broken = 0;
  const auto event = runtime_.make_event();
  const auto follow = [&](const std::string& name, std::atomic<int>& count) {
    return store_->watch({.ns = "default", .queues = {}, .stage = "", .locks = {name}}, [&] {
      ++count;
      event->notify();
    });
  };
  const auto told = [&](std::atomic<int>& count, int times) {
    for (const Instant given_up = runtime_.now() + 20s; count < times;) {
      if (!event->wait_until(given_up)) return false;
    }
    return true;
  };
  const auto first = follow("quiet", quiet), second = follow("waited", waited), third = follow("broken", broken);
  ASSERT_TRUE(told(broken, 1));  // the connection is there
  const int quiet_before = quiet;

  for (int i = 0; i < 5; ++i) pair(*store_, "quiet");
  const AcquireRequest holder = asking({"waited"});
  const AcquireReply held = must(store_->acquire(holder));
  AcquireRequest waiter = asking({"waited"});
  waiter.wait = true;
  EXPECT_TRUE(must(store_->acquire(waiter)).grants.empty());
  const int waited_before = waited;
  must(store_->release(releasing(holder, held)));
  EXPECT_TRUE(told(waited, waited_before + 1));
  EXPECT_EQ(must(store_->acquire(waiter)).grants.size(), 1u);

  must(store_->acquire(asking({"broken"})));
  const int broken_before = broken;
  must(
      store_->break_lock({.ns = "default", .resource = "broken", .only = {}, .request = "b", .act = {"ana", "stuck"}}));
  EXPECT_TRUE(told(broken, broken_before + 1));
  // Notices come in the order of commits.
  EXPECT_EQ(quiet, quiet_before);
}

TEST_F(PostgresLocks, NamesTakenOnceLeaveNothingAndComeAgainWithALargerFence) {
  std::map<std::string, Fence> fences;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "n" + std::to_string(i);
    fences[name] = pair(*store_, name);
  }
  schema_.run(
      "update lock set free_at = free_at - 3600000000, freed_at = freed_at - 3600000000; update lock_look set at = at "
      "- 3600000000");
  std::int64_t removed = 0;
  for (int step = 0; step < 10; ++step) {
    const TidyReply reply = must(store_->tidy({.ns = "default", .limit = 100}));
    removed += reply.removed;
    if (!reply.more) break;
  }
  EXPECT_EQ(removed, 300);
  EXPECT_EQ(number("select count(*) from " + ours("lock")), 0);
  EXPECT_EQ(number("select count(*) from " + ours("lock_look")), 0);
  // A store whose clock was set back: only the floor knows better.
  const Fence largest = number("select value from " + ours("floor"));
  EXPECT_GE(largest, fences.rbegin()->second);
  EXPECT_GT(pair(*store_, "n7"), largest);
}

// The row is somebody else's for a moment, and the lease runs out meanwhile; whether that one changed the row or not.
TEST_F(PostgresLocks, L4_ARenewalThatWaitedForTheRowUntilTheLeaseRanOutIsRefused) {
  for (const std::string& act :
       {"update " + ours("lock") + " set pattern = pattern", "select * from " + ours("lock") + " for update"}) {
    AcquireRequest asked = asking({"one"});
    asked.ttl = 1s;
    const AcquireReply got = must(store_->acquire(asked));
    const auto slow = session();
    ASSERT_TRUE(script(*slow, "begin; " + act));
    Result<RenewReply> renewed = fail(Code::unavailable, "not asked yet");
    Task other = runtime_.spawn("renews", [&](const std::stop_token&) {
      renewed = store_->renew({.ns = "default", .locks = releasing(asked, got).locks, .ttl = 30s});
    });
    wait_until_somebody_waits();
    EXPECT_TRUE(script(*slow, "select pg_sleep(1.1); commit"));
    other.join();
    ASSERT_EQ(must(renewed).refused.size(), 1u) << act;
    EXPECT_EQ(renewed->refused.front().reason, Reason::expired) << act;
  }
}

// A withdrawal that knows nothing of the name makes a row for it and takes that away again; whoever wanted to make one
// meanwhile must not miss what it left.
TEST_F(PostgresLocks, AWithdrawnRequestIsRefusedThoughTheNameWasMadeWhileItWasWithdrawn) {
  const AcquireRequest late = asking({"one"});
  const AcquireRequest next = asking({"one"});
  pair(*store_, "other");  // the namespace is there
  const auto slow = session();
  ASSERT_TRUE(script(*slow, "begin; select " + ours("withdraw_locks") + "('default', '{one}', 1, '" + late.owner +
                                "', '" + late.request + "', 30000000)"));
  Result<AcquireReply> got = fail(Code::unavailable, "not asked yet");
  Task other = runtime_.spawn("acquires", [&](const std::stop_token&) { got = store_->acquire(next); });
  wait_until_somebody_waits();
  ASSERT_TRUE(script(*slow, "commit"));
  other.join();
  ASSERT_EQ(must(got).grants.size(), 1u);
  ASSERT_TRUE(must(store_->release(releasing(next, *got))).refused.empty());
  EXPECT_EQ(code_of(store_->acquire(late)), Code::refused);
}

TEST_F(PostgresLocks, AFloorThatIsRaisedWaitsForGrantsUnderWay) {
  pair(*store_, "one");
  // A grant that has read the floor and is not committed yet.
  const auto slow = session();
  ASSERT_TRUE(script(*slow, "begin; update " + ours("lock") + " set fence = greatest(fence + 1, (select value from " +
                                ours("floor") + ") + 1)"));
  std::atomic<bool> raised = false;
  Task other = runtime_.spawn("raises", [&](const std::stop_token&) {
    must(store_->raise_floor({.ns = "default",
                              .floor = number("select max(fence) + 1000000 from " + ours("lock")),
                              .act = {"ana", "test"}}));
    raised = true;
  });
  for (int i = 0;
       i < 1'000 && number("select count(*) from pg_locks where not granted and mode = 'ExclusiveLock'") == 0; ++i)
    runtime_.sleep_for(5ms, {});
  EXPECT_FALSE(raised);
  ASSERT_TRUE(script(*slow, "commit"));
  other.join();
  EXPECT_GT(pair(*store_, "one"), number("select value from " + ours("floor")));
}

TEST_F(PostgresLocks, ARoleWithTheRightsOfAWorkerIsEnough) {
  const std::string role = "locker_" + std::to_string(::getpid());
  const postgres::Dsn dsn = must(postgres::parse_dsn(schema_.url()));
  schema_.run("drop role if exists " + role + "; create role " + role + " login password 'x'");
  schema_.run(must(postgres::grants_for(dsn, role)));
  {
    const std::string url = url_with("schema=" + schema_.name() + "&user=" + role + "&password=x");
    const auto store = opened(url);
    pair(*store, "mine");
    pair(*store, "mine");
    const AcquireRequest asked = asking({"a", "b"});
    const AcquireReply got = must(store->acquire(asked));
    EXPECT_EQ(got.grants.size(), 2u);
    AcquireRequest shared = asking({"s"});
    shared.mode = LockMode::shared;
    EXPECT_EQ(must(store->acquire(shared)).grants.size(), 1u);
    AcquireRequest waiter = asking({"a"});
    waiter.wait = true;
    EXPECT_TRUE(must(store->acquire(waiter)).held);
    must(store->withdraw(
        {.ns = "default", .names = {"a"}, .owner = waiter.owner, .request = waiter.request, .ttl = 1s}));
    must(store->renew({.ns = "default", .locks = releasing(asked, got).locks, .ttl = 30s}));
    must(store->break_lock({.ns = "default", .resource = "a", .only = {}, .request = "b", .act = {"ana", ""}}));
    EXPECT_FALSE(must(store->locks({.ns = "default"})).locks.empty());
    must(store->tidy({.ns = "default"}));
    must(store->raise_floor({.ns = "default", .floor = 5, .act = {"ana", ""}}));
    must(store->remove_namespace("default", {"ana", ""}));
  }
  schema_.run("drop owned by " + role + "; drop role " + role);
}

TEST_F(PostgresLocks, AStoreFromBeforeThereWereLocksIsMigrated) {
  must(store_->enqueue({.ns = "default", .jobs = {{.id = make_uuid7(runtime_.wall_now(), 1, 2), .queue = "q"}}}));
  set_back_to_before(schema_, "12_lock_tables.sql");
  const auto old = opened(schema_.url());
  EXPECT_EQ(code_of(old->acquire(asking({"a"}))), Code::not_found);
  const auto migrated =
      must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true}));
  pair(*migrated, "a");
  EXPECT_EQ(must(migrated->jobs({.ns = "default"})).jobs.size(), 1u);
  for (const Finding& finding : must(migrated->examine())) {
    if (finding.name == "schema") {
      EXPECT_EQ(finding.status, FindingStatus::ok) << finding.detail;
    }
  }
}

TEST_F(PostgresLocks, AStoreFromBeforeLeasesKnewTheirTtlIsMigrated) {
  pair(*store_, "a");
  schema_.run(
      "alter table job drop column ttl; alter table claim drop column read_at; alter table slot drop column ttl; "
      "alter table lock drop column ttl, drop column hold, drop column read_at; alter table lock_sharer drop column "
      "ttl; update meta set value = '" +
      postgres::tables_before("17_lease_tables.sql") +
      "' where key = 'tables'; update meta set value = 'older' where key = 'functions'; update meta set value = "
      "(select string_agg(line, E'\n' order by line collate \"C\") from regexp_split_to_table(value, E'\n') as line "
      "where line !~ '^(column [a-z_]+[.](ttl|hold|read_at)|index (claim|slot)_read_at) ') where key = 'objects'");
  EXPECT_EQ(code_of(opened(schema_.url())->acquire(asking({"a"}))), Code::not_found);
  const auto migrated =
      must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true}));
  EXPECT_EQ(must(migrated->acquire(asking({"a"}))).grants.size(), 1u);
  EXPECT_EQ(number("select ttl from " + ours("lock")), 30'000'000);
  for (const Finding& finding : must(migrated->examine())) {
    if (finding.name == "schema") {
      EXPECT_EQ(finding.status, FindingStatus::ok) << finding.detail;
    }
  }
}

// The clock was set back an hour after the release: what nobody holds waits for nobody.
TEST_F(PostgresLocks, WhatWasReleasedIsFreeAlsoForAClockThatWasSetBack) {
  const Fence before = pair(*store_, "one");
  const auto set_back = [&] {
    schema_.run(
        "update lock set free_at = free_at + 3600000000, freed_at = freed_at + 3600000000 where resource = 'one'");
  };
  set_back();
  EXPECT_GT(pair(*store_, "one"), before);
  set_back();
  EXPECT_FALSE(must(store_->lock("default", "one"))->free_in);
  AcquireRequest several = asking({"one", "two"});  // not by the plain statement
  EXPECT_EQ(must(store_->acquire(several)).grants.size(), 2u);
}

// Where nothing can be heard, who waits for a lock is told to look every second.
TEST_F(PostgresLocks, AWaiterThatCannotHearIsToldToLook) {
  const auto deaf = opened(schema_.url() + "&listen=0");
  std::atomic<int> told = 0;
  const auto event = runtime_.make_event();
  const auto watch = deaf->watch({.ns = "default", .queues = {}, .stage = "", .locks = {"one"}}, [&] {
    ++told;
    event->notify();
  });
  for (const Instant given_up = runtime_.now() + 20s; told < 2;) ASSERT_TRUE(event->wait_until(given_up));
}

TEST_F(PostgresLocks, BehindAPoolerEachVerbWorks) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "FENCELINE_TEST_PGBOUNCER names no pooler: run by script/with_postgres --pgbouncer";
  const auto store = opened(std::string(pooler) + "?schema=" + schema_.name() + "&pooler=transaction");
  const Fence first = pair(*store, "p");
  EXPECT_GT(pair(*store, "p"), first);
  const AcquireRequest asked = asking({"p", "q"});
  const AcquireReply got = must(store->acquire(asked));
  EXPECT_EQ(got.grants.size(), 2u);
  EXPECT_TRUE(must(store->acquire(asking({"p"}))).held);
  EXPECT_TRUE(must(store->renew({.ns = "default", .locks = releasing(asked, got).locks, .ttl = 30s})).refused.empty());
  EXPECT_TRUE(must(store->release(releasing(asked, got))).refused.empty());
}

}  // namespace
}  // namespace fenceline::test
