// What a power cut may take of a store on SQLite with synchronous=FULL: nothing that was acknowledged, by whichever
// connection it was written. The calls that SQLite makes are compared, since no test can cut the power.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "backends/sqlite/guarded_testing.hpp"
#include "support/disk_calls.hpp"

namespace fenceline {
namespace {

using test::DiskCalls;
using test::must;
using Words = std::vector<std::string>;

// Made anew by whoever opens the store next, or only hints.
const Words kPassing{"-shm", "-lock", "-wake"};

using PowerCutFile = test::SqliteFile;

TEST_F(PowerCutFile, J1_WhatTheStoreAcknowledgedIsOnTheDisk) {
  const DiskCalls calls(folder_.path());
  SqliteOptions often = options();
  often.checkpoint_pages = 1;
  const auto store = must(try_open(often));
  EXPECT_EQ(calls.losses(kPassing), Words{}) << "a new store";
  for (std::uint64_t i = 1; i < 5; ++i) {
    must(store->enqueue(test::one_job(i)));
    EXPECT_EQ(calls.losses(kPassing), Words{}) << "enqueue " << i;
    const Job job = must(store->claim(test::a_claim("a", std::to_string(i)))).jobs.at(0).job;
    EXPECT_EQ(calls.losses(kPassing), Words{}) << "claim " << i;
    must(store->settle({.ns = "default", .owner = "a", .settlements = {{.id = job.id, .fence = job.fence}}}));
    EXPECT_EQ(calls.losses(kPassing), Words{}) << "settle " << i;
  }
  const Words words = calls.words();
  EXPECT_GT(std::ranges::count(words, "sync store.db"), 0) << "no checkpoint was made";
  EXPECT_GT(std::ranges::count(words, "sync store.db-wal"), 0);
}

TEST_F(PowerCutFile, E3_WhatAnApplicationCommittedIsOnTheDisk) {
  const auto store = open();
  SqliteConnection connection = must(store->connect({}));
  const DiskCalls calls(folder_.path());
  for (int i = 0; i < 3; ++i) {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.execute(i == 0 ? "CREATE TABLE written (x)" : "INSERT INTO written VALUES (1)"));
    must(transaction.commit());
    EXPECT_EQ(calls.losses(kPassing), Words{}) << i;
  }
  const Words words = calls.words();
  EXPECT_GT(std::ranges::count(words, "sync store.db-wal"), 0);
}

std::string synchronous_of(const SqliteConnection& connection) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection.handle(), "PRAGMA synchronous", -1, &statement, nullptr);
  sqlite3_step(statement);
  const std::string answer = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  return answer;
}

TEST_F(PowerCutFile, AConnectionIsAsDurableAsItsStoreSays) {
  for (const auto& [chosen, setting, guarantee] :
       {std::tuple(SqliteSync::full, "2", GuaranteeClass::b), std::tuple(SqliteSync::normal, "1", GuaranteeClass::c)}) {
    SqliteOptions wanted = options();
    wanted.synchronous = chosen;
    const auto store = must(try_open(wanted));
    EXPECT_EQ(synchronous_of(must(store->connect({}))), setting);
    EXPECT_EQ(store->profile().guarantee, guarantee);
  }
}

// The judge sees the difference: a store that does not wait for the disk is not mistaken for one that does.
TEST_F(PowerCutFile, AStoreThatDoesNotWaitForTheDiskMayLoseItsLastCommits) {
  SqliteOptions fast = options();
  fast.synchronous = SqliteSync::normal;
  const auto store = must(try_open(fast));
  const DiskCalls calls(folder_.path());
  must(store->enqueue(test::one_job(1)));
  EXPECT_EQ(calls.losses(kPassing), (Words{"the content of " + (folder_ / "store.db-wal") + " is not on the disk"}));
}

}  // namespace
}  // namespace fenceline
