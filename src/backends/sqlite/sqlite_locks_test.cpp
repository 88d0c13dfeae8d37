// What locks promise on a file: over a boot, beside a wall clock that is moved, between two stores, in shared commits,
// and when nobody wants them any more.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>

#include "backends/sqlite/opening.hpp"
#include "backends/sqlite/testing.hpp"
#include "backends/sqlite/writer.hpp"

namespace fenceline::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

AcquireRequest of(const std::string& name, const std::string& owner) {
  return {.ns = "default", .names = {name}, .owner = owner, .request = "request-" + owner, .ttl = seconds{60}};
}

ReleaseRequest release_of(const LockGrant& grant, const std::string& owner) {
  return {.ns = "default", .locks = {{grant.resource, owner, grant.fence}}};
}

class SqliteLocks : public SqliteFile {
 protected:
  LockGrant granted(Store& store, const AcquireRequest& request) {
    const AcquireReply reply = must(store.acquire(request));
    if (reply.grants.empty()) throw std::runtime_error("not granted: " + std::string(to_string(reply.held->reason)));
    return reply.grants.front();
  }
  // "reason in microseconds"
  static std::string refused(Store& store, const AcquireRequest& request) {
    const AcquireReply reply = must(store.acquire(request));
    return reply.held ? std::string(to_string(reply.held->reason)) + " " + std::to_string(reply.again_in->count())
                      : "granted";
  }
  void reboot(std::unique_ptr<SqliteStore>& store, const std::string& boot_id) {
    store.reset();
    clock_.reboot(boot_id);
    store = open();
  }
  std::int64_t rows() {
    const auto db = sqlite::open_reader(options());
    return db
        ->number(
            "SELECT (SELECT count(*) FROM fenceline_lock) + (SELECT count(*) FROM fenceline_lock_holder)"
            " + (SELECT count(*) FROM fenceline_lock_waiter) + (SELECT count(*) FROM fenceline_lock_withdrawn)")
        .value();
  }
};

TEST_F(SqliteLocks, ARebootEndsALease) {
  auto store = open();
  const LockGrant first = granted(*store, of("a", "ana"));
  reboot(store, "boot-2");
  const RenewReply renewed =
      must(store->renew({.ns = "default", .locks = {{"a", "ana", first.fence}}, .ttl = seconds{60}}));
  ASSERT_EQ(renewed.refused.size(), 1u);
  EXPECT_EQ(renewed.refused[0].reason, Reason::expired);
  const LockGrant second = granted(*store, of("a", "bob"));
  EXPECT_GT(second.fence, first.fence);
  EXPECT_EQ(second.previous_owner, "ana");
}

TEST_F(SqliteLocks, L6_ARebootKeepsTheWindowOfALeaseThatIsHeldToItsEnd) {
  auto store = open();
  AcquireRequest loop = of("sweep", "ana");
  loop.to_its_end = true;
  const LockGrant first = granted(*store, loop);
  clock_.advance(seconds{10});
  reboot(store, "boot-2");
  clock_.advance(seconds{5});
  EXPECT_EQ(refused(*store, of("sweep", "bob")), "barred 45000000");
  AcquireRequest again = loop;
  again.request = "again";
  EXPECT_EQ(refused(*store, again), "barred 45000000") << "its own owner included";
  clock_.advance(seconds{10});
  reboot(store, "boot-3");
  EXPECT_EQ(refused(*store, of("sweep", "bob")), "barred 35000000") << "and the next boot, too";
  clock_.advance(seconds{35});
  EXPECT_GT(granted(*store, of("sweep", "bob")).fence, first.fence);
}

TEST_F(SqliteLocks, ABootWithAClockThatIsYearsBehindBarsForNoLongerThanTheWindow) {
  auto store = open();
  AcquireRequest loop = of("sweep", "ana");
  loop.to_its_end = true;
  granted(*store, loop);
  clock_.set_wall(WallTime{} + hours{1});
  reboot(store, "boot-2");
  EXPECT_EQ(refused(*store, of("sweep", "bob")), "barred 60000000");
  clock_.advance(seconds{60});
  granted(*store, of("sweep", "bob"));
}

TEST_F(SqliteLocks, L6_ARebootKeepsATimeToBeHeldAtLeast) {
  auto store = open();
  AcquireRequest task = of("report", "ana");
  task.hold_at_least = seconds{90};
  const LockGrant first = granted(*store, task);
  must(store->release(release_of(first, "ana")));
  reboot(store, "boot-2");
  EXPECT_EQ(refused(*store, of("report", "bob")), "barred 90000000");
  clock_.advance(seconds{90});
  EXPECT_EQ(granted(*store, of("report", "bob")).previous_owner, "") << "it was released";
}

TEST_F(SqliteLocks, ADelayBeginsWithTheBootThatEndedTheLease) {
  auto store = open();
  AcquireRequest careful = of("a", "ana");
  careful.delay = seconds{20};
  granted(*store, careful);
  reboot(store, "boot-2");
  EXPECT_EQ(refused(*store, of("a", "bob")), "delayed 20000000");
  clock_.advance(seconds{20});
  granted(*store, of("a", "bob"));
}

TEST_F(SqliteLocks, WhoeverWaitedBeforeTheBootIsGone) {
  auto store = open();
  granted(*store, of("a", "ana"));
  AcquireRequest waiting = of("a", "bob");
  waiting.wait = true;
  EXPECT_EQ(refused(*store, waiting), "held 60000000");
  reboot(store, "boot-2");
  granted(*store, of("a", "eve"));
  EXPECT_EQ(must(store->lock("default", "a"))->waiters_count, 0);
}

TEST_F(SqliteLocks, L3_AWallClockThatIsMovedChangesNoLeaseAndNoBarWithinABoot) {
  const auto store = open();
  granted(*store, of("a", "ana"));
  AcquireRequest task = of("b", "ana");
  task.hold_at_least = seconds{90};
  must(store->release(release_of(granted(*store, task), "ana")));
  const WallTime wall = clock_.wall_now();
  for (const Duration moved : {Duration{hours{48}}, Duration{-hours{48}}}) {
    clock_.set_wall(wall + moved);
    EXPECT_EQ(refused(*store, of("a", "bob")), "held 60000000");
    EXPECT_EQ(refused(*store, of("b", "bob")), "barred 90000000");
  }
}

TEST_F(SqliteLocks, L2_AFenceGrowsThoughTheWallClockWasSetBack) {
  const auto store = open();
  const LockGrant first = granted(*store, of("a", "ana"));
  must(store->release(release_of(first, "ana")));
  clock_.set_wall(clock_.wall_now() - hours{48});
  EXPECT_EQ(granted(*store, of("a", "bob")).fence, first.fence + 1);
}

TEST_F(SqliteLocks, TwoStoresOnOneFileExcludeAndWakeEachOther) {
  const auto one = open();
  const auto other = open();
  std::atomic<int> elsewhere = 0;
  const auto told = runtime_.make_event();
  const auto watch = other->watch({.ns = "default", .locks = {"a"}}, [&] { told->notify(); });
  const auto not_concerned = other->watch({.ns = "default", .locks = {"b"}}, [&] { ++elsewhere; });
  const LockGrant first = granted(*one, of("a", "ana"));
  EXPECT_EQ(refused(*other, of("a", "bob")), "held 60000000");
  must(one->release(release_of(first, "ana")));
  EXPECT_TRUE(told->wait_until(runtime_.now() + seconds{10})) << "of a release";
  const LockGrant second = granted(*other, of("a", "bob"));
  EXPECT_GT(second.fence, first.fence);
  must(one->break_lock({.ns = "default", .resource = "a", .request = "r", .act = {.actor = "ada"}}));
  EXPECT_TRUE(told->wait_until(runtime_.now() + seconds{10})) << "of a break";
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(SqliteLocks, AWaiterThatWithdrawsWakesThoseBehindIt) {
  const auto one = open();
  const auto other = open();
  granted(*one, of("a", "ana"));
  AcquireRequest waiting = of("a", "bob");
  waiting.wait = true;
  refused(*one, waiting);
  const auto told = runtime_.make_event();
  const auto watch = other->watch({.ns = "default", .locks = {"a"}}, [&] { told->notify(); });
  must(one->withdraw({.ns = "default", .names = {"a"}, .owner = "bob", .request = "request-bob", .ttl = seconds{60}}));
  EXPECT_TRUE(told->wait_until(runtime_.now() + seconds{10}));
}

TEST_F(SqliteLocks, ManyWatchesAreOneThread) {
  const auto store = open();
  std::vector<std::unique_ptr<Watch>> watches;
  std::atomic<int> calls = 0;
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator{});
  };
  granted(*store, of("first", "ana"));
  const auto before = threads();
  for (int i = 0; i < 300; ++i) watches.push_back(store->watch({.ns = "default", .locks = {"a"}}, [&] { ++calls; }));
  EXPECT_LE(threads(), before + 1);
  must(store->release(release_of(granted(*store, of("a", "ana")), "ana")));
  for (int i = 0; i < 1000 && calls < 300; ++i) runtime_.sleep_for(std::chrono::milliseconds{10}, {});
  EXPECT_EQ(calls, 300);
}

// Callers that come while a commit is under way share the next one.
class SharedCommits : public SqliteLocks {
 protected:
  using Body = sqlite::Writer::Body;

  // Commits that so many callers needed, who all came while another one was at work.
  static std::int64_t commits_of(sqlite::Writer& writer, const std::vector<Body>& bodies) {
    std::atomic<bool> may_go = false;
    std::latch begun(1);
    std::vector<std::jthread> callers;
    callers.emplace_back([&] {
      EXPECT_TRUE(writer.run(1, 0, kCallTimeout, [&](sqlite::Call&) {
        begun.count_down();
        may_go.wait(false);
        return true;
      }));
    });
    begun.wait();
    const std::int64_t before = writer.commits();
    for (const Body& body : bodies) callers.emplace_back([&] { EXPECT_TRUE(writer.run(1, 0, minutes{1}, body)); });
    while (writer.waiting() < bodies.size()) std::this_thread::yield();
    may_go = true;
    may_go.notify_all();
    callers.clear();
    return writer.commits() - before - 1;  // that of the other one
  }
};

TEST_F(SharedCommits, SixtyFourCallersNeedOneForTheirGrantsAndOneForTheirReleases) {
  const sqlite::OpenedFile file = must(sqlite::open_file(runtime_, clock_, options()));
  sqlite::WakeFile wakes("");
  sqlite::Writer writer(runtime_, clock_, Log(null_log_sink()), *file.writer, *file.locks, wakes,
                        {options().path, 1000});
  constexpr std::size_t kCallers = 64;
  std::vector<std::optional<LockGrant>> grants(kCallers);
  const auto owner = [](std::size_t i) { return "owner-" + std::to_string(i); };
  std::vector<Body> acquires;
  std::vector<Body> releases;
  for (std::size_t i = 0; i < kCallers; ++i) {
    acquires.push_back([&, i](sqlite::Call& call) {
      const Result<AcquireReply> reply = sqlite::acquire(call, of("lock-" + std::to_string(i), owner(i)));
      if (reply && !reply->grants.empty()) grants[i] = reply->grants.front();
      return reply.has_value();
    });
    releases.push_back([&, i](sqlite::Call& call) {
      const Result<ReleaseReply> reply = sqlite::release(call, release_of(grants[i].value(), owner(i)));
      return reply && reply->refused.empty();
    });
  }
  EXPECT_EQ(commits_of(writer, acquires), 1);
  for (const auto& grant : grants) EXPECT_TRUE(grant);
  EXPECT_EQ(commits_of(writer, releases), 1);
}

TEST_F(SharedCommits, APlainLockIsOneRowThatIsWrittenOnceByAGrantAndOnceByARelease) {
  const sqlite::OpenedFile file = must(sqlite::open_file(runtime_, clock_, options()));
  sqlite::WakeFile wakes("");
  sqlite::Writer writer(runtime_, clock_, Log(null_log_sink()), *file.writer, *file.locks, wakes,
                        {options().path, 1000});
  std::int64_t changes = 0;
  for (const std::string owner : {"first", "second", "third"}) {
    must(writer.run(1, 0, kCallTimeout, [&](sqlite::Call& call) {
      call.names.intern_namespace("default");
      const std::int64_t before = sqlite3_total_changes64(call.db.handle());
      const LockGrant grant = must(sqlite::acquire(call, of("a", owner))).grants.at(0);
      must(sqlite::release(call, release_of(grant, owner)));
      changes = sqlite3_total_changes64(call.db.handle()) - before;
      return true;
    }));
    EXPECT_EQ(changes, 2) << owner;
  }
}

// A file of a version before is one without the tables of pipelines, or without those of schedules and of locks too.
class OlderFile : public SqliteLocks {
 protected:
  void make_older(int version = 5) {
    auto store = open();
    must(store->enqueue(one_job(1)));
    store.reset();
    run("DROP TABLE fenceline_pipeline; DROP TABLE fenceline_item");
    if (version < 7)
      run("DROP TABLE fenceline_schedule; DROP TABLE fenceline_schedule_count; DROP TABLE fenceline_schedule_spec; "
          "DROP TABLE fenceline_tick; DROP TABLE fenceline_tick_range");
    if (version < 6)
      run("DROP TABLE fenceline_lock; DROP TABLE fenceline_lock_holder; DROP TABLE fenceline_lock_waiter; DROP TABLE "
          "fenceline_lock_withdrawn");
    run("PRAGMA user_version = " + std::to_string(version));
  }
  void run(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(options().path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
};

TEST_F(OlderFile, IsUpgradedInPlaceAndKeepsItsJobs) {
  make_older();
  const auto store = open();
  EXPECT_EQ(must(store->trail("default", 1)).at(0).act, "store_migrated");
  EXPECT_EQ(must(store->trail("default", 1)).at(0).subject, "schema 5 to 8");
  granted(*store, of("a", "ana"));
  EXPECT_EQ(must(store->claim(a_claim("w", "1"))).jobs.size(), 1u);
  EXPECT_EQ(must(open()->trail("default", 10)).size(), 2u) << "once";
}

TEST_F(OlderFile, WithLocksGetsSchedulesAndKeepsItsLocks) {
  LockGrant grant;
  {
    const auto store = open();
    grant = granted(*store, of("a", "ana"));
  }
  make_older(6);
  const auto store = open();
  EXPECT_EQ(must(store->trail("default", 1)).at(0).subject, "schema 6 to 8");
  EXPECT_TRUE(must(store->release(release_of(grant, "ana"))).refused.empty());
  EXPECT_TRUE(must(store->schedules({.ns = "default"})).schedules.empty());
}

TEST_F(OlderFile, WithSchedulesGetsPipelinesAndKeepsItsJobs) {
  make_older(7);
  const auto store = open();
  EXPECT_EQ(must(store->trail("default", 1)).at(0).subject, "schema 7 to 8");
  EXPECT_TRUE(must(store->schedules({.ns = "default"})).schedules.empty());
  EXPECT_TRUE(must(store->pipelines("default")).empty());
  const ClaimedJob claim = must(store->claim(a_claim("w", "1"))).jobs.at(0);
  ItemChange change;
  change.id = claim.job.id;
  change.record = "at two";
  change.fence = claim.job.fence;
  change.place = Placement{.stage = "two", .result = {}, .error = {}};
  change.act = "item_advanced";
  EXPECT_TRUE(
      must(store->change_items({.ns = "default", .owner = "w", .request = "1", .changes = {change}, .act = {"w", ""}}))
          .refused.empty());
  EXPECT_EQ(must(store->job("default", claim.job.id))->stage, "two");
}

TEST_F(OlderFile, IsUpgradedUnderAConnectionOfTheVersionBeforeWhichGoesOn) {
  make_older();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(options().path.c_str(), &db), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  const char* sql =
      "INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES ('default', 0, '', 'older', '', '')";
  ASSERT_EQ(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr), SQLITE_OK);
  const auto store = open();
  EXPECT_EQ(sqlite3_step(statement), SQLITE_DONE) << sqlite3_errmsg(db);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  EXPECT_EQ(must(store->trail("default", 1)).at(0).act, "older");
}

TEST_F(OlderFile, OfAnotherBootIsUpgradedFirst) {
  make_older();
  clock_.reboot("boot-2");
  const auto store = open();
  EXPECT_EQ(must(store->trail("default", 1)).at(0).act, "boot_changed");
  granted(*store, of("a", "ana"));
}

class FreeLocks : public SqliteLocks {
 protected:
  TidyReply tidy(Store& store, int limit) { return must(store.tidy({.ns = "default", .limit = limit})); }
  std::string names(Store& store) {
    std::string text;
    for (const LockRow& lock : must(store.locks({.ns = "default"})).locks)
      text += (text.empty() ? "" : " ") + lock.resource;
    return text;
  }
  void take_and_free(Store& store, const std::string& name) {
    const std::string owner = "owner-" + std::to_string(++owners_);
    must(store.release(release_of(granted(store, of(name, owner)), owner)));
  }
  int owners_ = 0;
};

TEST_F(FreeLocks, GoTheLongestFreeFirstWhateverWasKnownOfThemBefore) {
  const auto store = open();
  for (const char* name : {"a", "b", "c", "d"}) {
    take_and_free(*store, name);
    clock_.advance(seconds{1});
  }
  clock_.advance(minutes{29});
  take_and_free(*store, "a");  // the first to be looked at is now the last to go
  clock_.advance(seconds{1});
  take_and_free(*store, "c");
  clock_.advance(minutes{29});
  EXPECT_EQ(tidy(*store, 10).removed, 2) << "b and d";
  EXPECT_EQ(names(*store), "a c");
  clock_.advance(minutes{1});
  const TidyReply step = tidy(*store, 1);
  EXPECT_EQ(step.removed, 1);
  EXPECT_TRUE(step.more);
  EXPECT_EQ(names(*store), "c");
  EXPECT_EQ(tidy(*store, 1).removed, 1);
  EXPECT_EQ(rows(), 0);
}

TEST_F(FreeLocks, InUseArePutOffAndNotForgotten) {
  const auto store = open();
  AcquireRequest held = of("held", "ana");
  held.ttl = hours{3};
  const LockGrant grant = granted(*store, held);
  AcquireRequest shared = of("shared", "bob");
  shared.mode = LockMode::shared;
  shared.ttl = hours{1};
  granted(*store, shared);
  clock_.advance(minutes{45});
  EXPECT_EQ(tidy(*store, 10).removed, 0);
  must(store->release(release_of(grant, "ana")));
  clock_.advance(minutes{30});
  EXPECT_EQ(tidy(*store, 10).removed, 1) << "half an hour after its early release";
  EXPECT_EQ(names(*store), "shared");
  clock_.advance(minutes{15});
  EXPECT_EQ(tidy(*store, 10).removed, 1);
  EXPECT_EQ(rows(), 0);
}

// tests/soak/many_locks asks for a million.
int names_to_take() {
  const char* text = std::getenv("FENCELINE_LOCK_NAMES");
  return text ? static_cast<int>(std::strtol(text, nullptr, 10)) : 20'000;
}

TEST_F(FreeLocks, L2_ManyNamesTakenOnceLeaveNothingAfterAnHourAndComeBackWithALargerFence) {
  const auto store = must(SqliteStore::open(runtime_, clock_, Log(null_log_sink()), {.path = ":memory:"}));
  const int names = names_to_take();
  Fence largest = 0;
  for (int i = 0; i < names; ++i) {
    const std::string name = "name-" + std::to_string(i);
    const LockGrant grant = granted(*store, of(name, name));
    must(store->release(release_of(grant, name)));
    largest = std::max(largest, grant.fence);
    clock_.advance(std::chrono::milliseconds{1});
  }
  clock_.advance(hours{1});
  clock_.set_wall(clock_.wall_now() - hours{24});
  std::int64_t removed = 0;
  int steps = 0;
  for (bool more = true; more && steps <= names; ++steps) {
    const TidyReply step = tidy(*store, 1000);
    removed += step.removed;
    more = step.more;
  }
  EXPECT_EQ(removed, names);
  EXPECT_EQ(steps, (names + 999) / 1000) << "each step removes as many as it may";
  EXPECT_TRUE(must(store->locks({.ns = "default"})).locks.empty());
  EXPECT_GT(granted(*store, of("name-7", "again")).fence, largest) << "though the wall clock was set back by a day";
}

TEST_F(FreeLocks, L2_ANamespaceThatIsRemovedTakesItsLocksAndTheFloorStays) {
  const auto store = open();
  AcquireRequest shared = of("s", "ana");
  shared.mode = LockMode::shared;
  granted(*store, shared);
  AcquireRequest waiting = of("s", "bob");
  waiting.wait = true;
  refused(*store, waiting);
  must(store->withdraw({.ns = "default", .names = {"x"}, .owner = "eve", .request = "r", .ttl = seconds{60}}));
  const LockGrant grant = granted(*store, of("a", "ana"));
  must(store->remove_namespace("default", {.actor = "ada", .reason = "over"}));
  EXPECT_EQ(rows(), 0);
  clock_.set_wall(clock_.wall_now() - hours{24});
  EXPECT_GT(granted(*store, of("a", "bob")).fence, grant.fence);
}

}  // namespace
}  // namespace fenceline::test
