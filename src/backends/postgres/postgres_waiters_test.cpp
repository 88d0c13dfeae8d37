// What those who wait for a lock cost a real server, as the server counts it, and what many names leave behind in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>

#include "backends/postgres/pool.hpp"
#include "backends/postgres/testing.hpp"
#include "services/lock_client.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresWaiters : public testing::Test {
 protected:
  PostgresWaiters() : store_(opened("holder")) {}

  std::string program(const std::string& who) const { return schema_.name() + "_" + who; }
  std::unique_ptr<PostgresStore> opened(const std::string& who) {
    return must(PostgresStore::open(runtime_, Log(null_log_sink()),
                                    {.url = schema_.url() + "&application_name=" + program(who)}));
  }
  std::int64_t number(const std::string& query) {
    return must(looks_.run(postgres::Statement{query}, {}, postgres::CallKind::look, 30s)).integer(0, 0);
  }
  std::int64_t waiters(const std::string& name) {
    const std::optional<LockRow> row = must(store_->lock("default", name));
    return row ? row->waiters_count : 0;
  }
  // Events, not times: a busy machine only makes it later.
  bool eventually(const std::function<bool()>& what) {
    for (const Instant given_up = runtime_.now() + 2min; runtime_.now() < given_up; runtime_.sleep_for(20ms, {})) {
      if (what()) return true;
    }
    return false;
  }
  AcquireRequest held_for_long(const std::string& name) {
    return {.ns = "default", .names = {name}, .owner = "holder", .request = "r", .ttl = 1h};
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"waiters"};
  std::unique_ptr<PostgresStore> store_;
  postgres::Pool looks_{runtime_, must(postgres::parse_dsn(schema_.url())), nullptr};
};

// By the server's own notes of when each of the waiter's sessions was last asked something, that of its LISTEN among
// them.
TEST_F(PostgresWaiters, AnIdleWaiterCostsNoRequestInFiveSeconds) {
  const LockGrant held = must(store_->acquire(held_for_long("deploy"))).grants.front();
  const auto others = opened("waiter");
  LockClient locks(make_lock_parts(runtime_, Log(null_log_sink()), *others, {.place = "waiter"}));
  std::atomic<bool> had = false;
  Task waiter = runtime_.spawn("waiter", [&](std::stop_token stop) {
    Result<HeldLock> mine = locks.acquire({.names = {"deploy"}, .ttl = 30s, .wait = 10min}, stop);
    had = mine.has_value();
    if (mine) must(mine->release());
  });
  ASSERT_TRUE(eventually([&] { return waiters("deploy") == 1; }));
  const std::string sessions = " from pg_stat_activity where application_name = '" + program("waiter") + "'";
  const auto quiet_for = [&] {
    return number(
        "select coalesce(floor(extract(epoch from clock_timestamp() - max(greatest(query_start, "
        "state_change))))::bigint, -1)" +
        sessions);
  };
  EXPECT_TRUE(eventually([&] { return quiet_for() >= 5; }))
      << "in two minutes there were no five seconds without a request";
  EXPECT_EQ(waiters("deploy"), 1) << "it waits";
  EXPECT_GE(number("select count(*)" + sessions), 1) << "and is connected";
  EXPECT_FALSE(had);
  must(store_->release({.ns = "default", .locks = {{"deploy", "holder", held.fence}}}));
  EXPECT_TRUE(eventually([&] { return had.load(); })) << "it was woken";
  waiter.request_stop();
  waiter.join();
}

TEST_F(PostgresWaiters, SixtyFourThreadsOfOneProcessAreOneWaiterAtTheStore) {
  constexpr int kThreads = 64;
  const LockGrant held = must(store_->acquire(held_for_long("hot"))).grants.front();
  const auto others = opened("threads");
  LockClient locks(make_lock_parts(runtime_, Log(null_log_sink()), *others, {.place = "threads"}));
  std::atomic<int> asking = 0, had = 0;
  std::int64_t inside = 0;  // no atomic: the lock alone guards it
  std::vector<Task> tasks;
  for (int i = 0; i < kThreads; ++i) {
    tasks.push_back(runtime_.spawn("waiter", [&](std::stop_token) {
      asking += 1;
      must(locks.with({.names = {"hot"}, .ttl = 1min, .wait = 10min}, [&](const HeldLock&) { inside += 1; }));
      had += 1;
    }));
  }
  std::int64_t most = 0;
  const auto look = [&] {
    most = std::max(most, waiters("hot"));
    return most;
  };
  ASSERT_TRUE(eventually([&] { return asking == kThreads && look() >= 1; }));
  // All have come; none of the others would need longer than the first to take a place.
  for (int looks = 0; looks < 50; ++looks) look();
  EXPECT_EQ(must(store_->lock("default", "hot"))->waiters_count, 1);
  must(store_->release({.ns = "default", .locks = {{"hot", "holder", held.fence}}}));
  EXPECT_TRUE(eventually([&] {
    look();
    return had == kThreads;
  }));
  for (Task& task : tasks) task.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(inside, kThreads);
  EXPECT_EQ(locks.counts().acquired, kThreads);
}

// tests/soak/many_locks_on_postgres asks for more. Sixteen names a grant, on several connections.
int names_to_take() {
  const char* text = std::getenv("FENCELINE_LOCK_NAMES");
  return text ? static_cast<int>(std::strtol(text, nullptr, 10)) : 3'200;
}

TEST_F(PostgresWaiters, L2_ManyNamesTakenOnceLeaveNothingAfterAnHourAndComeBackWithALargerFence) {
  constexpr int kAtOnce = static_cast<int>(kLocksAtOnceMax);
  constexpr int kCallers = 8;
  const int grants = (names_to_take() + kAtOnce - 1) / kAtOnce;
  const int names = grants * kAtOnce;
  const auto name_of = [](int number) { return "name-" + std::to_string(number); };
  const auto size = [&](const std::string& when) {
    const std::string tables =
        " from pg_class where relnamespace = '" + schema_.name() + "'::regnamespace and relkind = 'r'";
    const std::int64_t bytes = number("select sum(pg_total_relation_size(oid))::bigint" + tables);
    std::cout << when << ": " << number("select count(*) from " + schema_.name() + ".lock") << " locks, "
              << bytes / 1024 << " KiB in all tables\n";
    return bytes;
  };
  const std::int64_t before = size("before");
  std::atomic<int> next = 0;
  std::atomic<Fence> largest = 0;
  std::vector<Task> tasks;
  for (int i = 0; i < kCallers; ++i) {
    tasks.push_back(runtime_.spawn("caller", [&](std::stop_token) {
      for (int grant = next++; grant < grants; grant = next++) {
        AcquireRequest request{
            .ns = "default", .names = {}, .owner = "o" + std::to_string(grant), .request = "r", .ttl = 1min};
        for (int k = 0; k < kAtOnce; ++k) request.names.push_back(name_of(grant * kAtOnce + k));
        std::ranges::sort(request.names);
        const AcquireReply got = must(store_->acquire(request));
        ReleaseRequest release{.ns = "default", .locks = {}};
        for (const LockGrant& one : got.grants) {
          release.locks.push_back({one.resource, request.owner, one.fence});
          for (Fence seen = largest; seen < one.fence && !largest.compare_exchange_weak(seen, one.fence);) {
          }
        }
        EXPECT_EQ(release.locks.size(), static_cast<std::size_t>(kAtOnce));
        EXPECT_TRUE(must(store_->release(release)).refused.empty());
      }
    }));
  }
  for (Task& task : tasks) task.join();
  ASSERT_EQ(number("select count(*) from " + schema_.name() + ".lock"), names);
  const std::int64_t taken = size("taken and released");
  // An hour on the clock of leases; the wall clock was set back by a day, so that the floor alone knows of the fences.
  schema_.run(
      "create or replace function clock(out lease bigint, out wall bigint, out waited bigint) language plpgsql "
      "volatile as $$ begin "
      "wall := extract(epoch from clock_timestamp()) * 1000000 - 86400000000; lease := wall + 86400000000 + "
      "3600000000; waited := 0; end $$");
  std::int64_t removed = 0;
  for (bool more = true; more && removed < names;) {
    const TidyReply step = must(store_->tidy({.ns = "default", .limit = 1000, .timeout = 30s}));
    removed += step.removed;
    more = step.more;
    if (step.removed == 0 && !more) break;
  }
  EXPECT_EQ(removed, names);
  // Keys that fences left for transactions under way go when those are over.
  EXPECT_TRUE(eventually([&] {
    must(store_->tidy({.ns = "default", .limit = 1000, .timeout = 30s}));
    return number("select count(*) from " + schema_.name() + ".superseded") == 0;
  }));
  for (const char* table : {"lock", "lock_look", "lock_waiter", "lock_sharer", "lock_withdrawn"})
    EXPECT_EQ(number("select count(*) from " + schema_.name() + "." + table), 0) << table;
  size("an hour later, tidied");
  // What autovacuum does in its own time.
  const auto session =
      must(postgres::Connection::connect(runtime_, must(postgres::parse_dsn(server_url())), runtime_.now() + 30s));
  for (const char* table : {"lock", "lock_look", "superseded"}) {
    const postgres::Reply vacuumed = session->script("vacuum " + schema_.name() + "." + table, runtime_.now() + 5min);
    ASSERT_EQ(vacuumed.fate, postgres::Reply::Fate::answered) << vacuumed.error.message;
  }
  const std::int64_t after = size("and vacuumed");
  EXPECT_LT(after, taken) << "what stays are pages of indexes, empty and used again (" << before << " bytes before)";
  const AcquireReply again =
      must(store_->acquire({.ns = "default", .names = {name_of(7)}, .owner = "again", .request = "r", .ttl = 1min}));
  ASSERT_EQ(again.grants.size(), 1U);
  EXPECT_GT(again.grants.front().fence, largest);
  EXPECT_GE(number("select value from " + schema_.name() + ".floor"), largest) << "which the floor alone remembers";
}

}  // namespace
}  // namespace fenceline::test
