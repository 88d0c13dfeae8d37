// What the application's SQL can and cannot do on a connection of ours.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/sqlite/guarded_testing.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;

using ApplicationConnection = test::GuardedFile;

TEST_F(ApplicationConnection, WritesInATransactionAndOnlyThere) {
  make_table("CREATE TABLE account (id TEXT PRIMARY KEY, cents INTEGER NOT NULL)");
  {
    SqliteTransaction transaction = must(connection.begin());
    EXPECT_EQ(must(transaction.execute("INSERT INTO account VALUES (?1, ?2), ('ben', 5)", {"ana", 7})), 2);
    must(transaction.commit());
  }
  EXPECT_NE(raw(connection.handle(), "DELETE FROM account"), "");
  EXPECT_NE(connection.refusal().find("begin()"), std::string::npos) << connection.refusal();
  EXPECT_NE(raw(connection.handle(), "CREATE TABLE other (x)"), "");
  EXPECT_EQ(text_of("SELECT * FROM account ORDER BY id"), "ana,7;ben,5");
  EXPECT_EQ(text_of("SELECT count(*) FROM sqlite_schema WHERE name = 'other'"), "0");
}

TEST_F(ApplicationConnection, ATransactionThatGoesAwayHasChangedNothing) {
  make_table("CREATE TABLE account (id, cents)");
  {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.execute("INSERT INTO account VALUES (1, 1)"));
  }
  EXPECT_EQ(text_of("SELECT count(*) FROM account"), "0");
  must(store->enqueue(test::one_job(1)));  // and the turn is free
}

TEST_F(ApplicationConnection, SqlCannotEndTheTransaction) {
  make_table("CREATE TABLE account (id, cents)");
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("INSERT INTO account VALUES (1, 1)"));
  for (const char* sql : {"COMMIT", "ROLLBACK", "BEGIN", "END"})
    EXPECT_EQ(code_of(transaction.execute(sql)), Code::refused) << sql;
  must(transaction.commit());
  EXPECT_EQ(text_of("SELECT count(*) FROM account"), "1");
  EXPECT_EQ(code_of(transaction.commit()), Code::refused);
  EXPECT_EQ(code_of(transaction.execute("SELECT 1")), Code::refused);
}

TEST_F(ApplicationConnection, TheStoresTablesCannotBeWrittenBySql) {
  must(store->enqueue(test::one_job(1)));
  make_table("CREATE TABLE mine (x)");
  SqliteTransaction transaction = must(connection.begin());
  for (const char* sql : {"DELETE FROM job",
                          "UPDATE main.Job SET priority = 1",
                          "INSERT INTO trail VALUES (1, '', 1, '', '', '', '')",
                          "DROP TABLE run",
                          "ALTER TABLE job ADD COLUMN x",
                          "CREATE INDEX i ON job (priority)",
                          "CREATE TRIGGER t AFTER INSERT ON job BEGIN SELECT 1; END",
                          "CREATE TEMP TABLE job (x)",
                          "CREATE VIEW batch AS SELECT 1",
                          "CREATE TABLE batch (x)",
                          "CREATE TABLE fenceline_mine (x)",
                          "SELECT * FROM batch",
                          "PRAGMA user_version = 9",
                          "PRAGMA wal_checkpoint",
                          "PRAGMA journal_mode = DELETE",
                          "PRAGMA writable_schema = 1",
                          "PRAGMA recursive_triggers = 0",
                          "PRAGMA wal_autocheckpoint = 1",
                          "ATTACH ':memory:' AS other",
                          "ANALYZE"}) {
    const auto refused = transaction.execute(sql);
    EXPECT_EQ(code_of(refused), Code::refused) << sql;
    EXPECT_TRUE(refused || refused.error().message.find("not authorized") == std::string::npos) << sql;
  }
  // Nor by a trigger of the application's own.
  must(transaction.execute("CREATE TRIGGER sly AFTER INSERT ON mine BEGIN DELETE FROM job; END"));
  EXPECT_EQ(code_of(transaction.execute("INSERT INTO mine VALUES (1)")), Code::refused);
  // Nor hidden behind a table of its own.
  must(transaction.execute("CREATE TEMP TABLE scratch (x)"));
  EXPECT_EQ(code_of(transaction.execute("ALTER TABLE scratch RENAME TO job")), Code::refused);
  must(transaction.commit());
  EXPECT_NE(raw(connection.handle(), "VACUUM"), "");
  EXPECT_TRUE(must(store->job("default", test::job_id(1))).has_value());
}

TEST_F(ApplicationConnection, TheStoresTablesMayBeReadAndItsOwnSettingsUsed) {
  must(store->enqueue(test::one_job(1)));
  EXPECT_EQ(text_of("SELECT count(*) FROM job"), "1");
  EXPECT_EQ(raw(connection.handle(), "PRAGMA foreign_keys = ON; PRAGMA table_info(job); PRAGMA user_version"), "");
}

TEST_F(ApplicationConnection, TakesTurnsWithTheStoreAndNamesWhoIsInTheWay) {
  SqliteConnection second = must(store->connect({}));
  SqliteTransaction transaction = must(connection.begin());
  const auto waited = second.begin(20ms);
  EXPECT_EQ(code_of(waited), Code::unavailable);
  EXPECT_NE(waited.error().message.find("process " + std::to_string(::getpid()) + " holds the write lock"),
            std::string::npos)
      << waited.error().message;
  EnqueueRequest request = test::one_job(1);
  request.timeout = 20ms;
  const auto enqueued = store->enqueue(request);
  EXPECT_EQ(code_of(enqueued), Code::unavailable);
  EXPECT_NE(enqueued.error().message.find(std::to_string(::getpid())), std::string::npos) << enqueued.error().message;
  EXPECT_EQ(code_of(connection.begin()), Code::refused);  // one at a time
  must(transaction.commit());
  must(must(second.begin()).commit());
  must(store->enqueue(test::one_job(1)));
}

TEST_F(ApplicationConnection, WaitsForItsTurnBehindManyWriters) {
  make_table("CREATE TABLE line (n)");
  std::vector<Task> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.push_back(runtime_.spawn("writer", [&](std::stop_token) {
      SqliteConnection own = must(store->connect({}));
      for (int i = 0; i < 25; ++i) {
        SqliteTransaction transaction = must(own.begin());
        must(transaction.execute("INSERT INTO line SELECT coalesce(max(n), 0) + 1 FROM line"));
        must(transaction.commit());
      }
    }));
  }
  for (std::uint64_t i = 1; i <= 25; ++i) must(store->enqueue(test::one_job(i)));
  for (Task& writer : writers) writer.join();
  EXPECT_EQ(text_of("SELECT count(*), max(n) FROM line"), "100,100");
}

TEST_F(ApplicationConnection, KeepsTheLogShort) {
  SqliteOptions small = options();
  store.reset();
  small.checkpoint_pages = 10;
  connection = [&] {
    store = must(try_open(small));
    return must(store->connect({}));
  }();
  make_table("CREATE TABLE line (n, text)");
  for (int i = 0; i < 100; ++i) {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.execute("INSERT INTO line VALUES (?1, hex(randomblob(3000)))", {i}));
    must(transaction.commit());
  }
  struct stat wal {};
  ASSERT_EQ(::stat((options().path + "-wal").c_str(), &wal), 0);
  EXPECT_LT(wal.st_size, 50 * 4096);
}

TEST_F(ApplicationConnection, AStatementOutOfTurnWritesNothingIntoTheLogBeforeItIsRefused) {
  make_table("CREATE TABLE bulk (bytes BLOB)");
  const auto log_size = [&] { return std::filesystem::file_size(options().path + "-wal"); };
  const auto before = log_size();
  const std::string many =
      "INSERT INTO bulk WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 320) SELECT "
      "zeroblob(100000) FROM n";
  EXPECT_NE(raw(connection.handle(), many.c_str()), "");
  EXPECT_EQ(log_size(), before);
}

TEST_F(ApplicationConnection, DoesNotCrossAFork) {
  make_table("CREATE TABLE line (n)");
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("INSERT INTO line VALUES (1)"));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused =
        code_of(transaction.execute("SELECT 1")) == Code::refused && code_of(transaction.commit()) == Code::refused;
    ::_exit(refused && code_of(connection.begin()) == Code::refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  must(transaction.commit());
  EXPECT_EQ(text_of("SELECT count(*) FROM line"), "1");
}

TEST_F(ApplicationConnection, WhatIsWrongWithAStatementIsSaidByItsCode) {
  make_table("CREATE TABLE account (id TEXT PRIMARY KEY, cents INTEGER CHECK (cents >= 0))");
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("INSERT INTO account VALUES ('ana', 1)"));
  EXPECT_EQ(code_of(transaction.execute("INSERT INTO account VALUES ('ana', 2)")), Code::conflict);
  EXPECT_EQ(code_of(transaction.execute("UPDATE account SET cents = -1")), Code::conflict);
  EXPECT_EQ(code_of(transaction.execute("SELEKT 1")), Code::invalid);
  EXPECT_EQ(code_of(transaction.execute("SELECT 1; SELECT 2")), Code::invalid);
  EXPECT_EQ(code_of(transaction.execute("SELECT ?1")), Code::invalid);
  EXPECT_EQ(code_of(transaction.execute("")), Code::invalid);
  must(transaction.commit());
}

TEST_F(ApplicationConnection, ADeferredConstraintIsFoundAtTheCommitWhichThenChangesNothing) {
  ASSERT_EQ(raw(connection.handle(), "PRAGMA foreign_keys = ON"), "");
  make_table("CREATE TABLE parent (id INTEGER PRIMARY KEY)");
  make_table("CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("INSERT INTO child VALUES (1)"));
  EXPECT_EQ(code_of(transaction.commit()), Code::conflict);
  EXPECT_EQ(text_of("SELECT count(*) FROM child"), "0");
  must(must(connection.begin()).commit());
}

TEST(ApplicationConnectionInMemory, IsRefused) {
  test::ManualClock clock;
  ThreadRuntime runtime;
  const auto store = must(SqliteStore::open(runtime, clock, Log(null_log_sink()), {.path = ":memory:"}));
  EXPECT_EQ(code_of(store->connect({})), Code::refused);
}

}  // namespace
}  // namespace fenceline
