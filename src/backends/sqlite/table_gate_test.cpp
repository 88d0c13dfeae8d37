// Protected tables: what is written without a fence, or under an older one, is refused where it lands.
#include <gtest/gtest.h>

#include "backends/sqlite/guarded_testing.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;

class ProtectedTables : public test::GuardedFile {
 protected:
  // Rows of resources that are no jobs.
  void protect_lines(const std::string& options = "") {
    make_table("CREATE TABLE line (id INTEGER PRIMARY KEY, owner TEXT, fence INTEGER, text TEXT UNIQUE)" + options);
    must(connection.protect_table({.table = "line", .resource_column = "owner"}));
  }
  std::string lines() { return text_of("SELECT id, owner, fence, text FROM line ORDER BY id"); }
  std::optional<Code> write(const std::string& sql, std::optional<std::pair<std::string, Fence>> as = std::nullopt) {
    SqliteTransaction transaction = must(connection.begin());
    if (as) {
      if (auto ok = transaction.act_as(as->first, as->second); !ok) return ok.error().code;
    }
    const auto wrote = transaction.execute(sql);
    if (!wrote) {
      message = wrote.error().message;
      return wrote.error().code;
    }
    return code_of(transaction.commit());
  }
  static std::pair<std::string, Fence> x(Fence fence) { return {"x", fence}; }

  std::string message;
};

constexpr std::nullopt_t ok = std::nullopt;

TEST_F(ProtectedTables, AStatementThatIsSilentOnTheFenceIsRefused) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, text) VALUES ('x', 'a')"), Code::lost);
  EXPECT_NE(message.find("act_as"), std::string::npos) << message;
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 5, 'a')"), ok);
  EXPECT_EQ(write("UPDATE line SET text = 'b'"), Code::lost);
  EXPECT_EQ(write("DELETE FROM line"), Code::lost);
  EXPECT_EQ(write("DELETE FROM line WHERE id = 1"), Code::lost);
  EXPECT_EQ(write("UPDATE line SET fence = NULL"), Code::lost);
  EXPECT_EQ(write("UPDATE line SET fence = 'nine'"), Code::lost);
  EXPECT_EQ(lines(), "1,x,5,a");
}

TEST_F(ProtectedTables, AnOlderFenceIsRefusedAndAnEqualOneAccepted) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 5, 'a')"), ok);
  EXPECT_EQ(write("UPDATE line SET fence = 4, text = 'b'"), Code::lost);
  EXPECT_NE(message.find("is under fence 5; fence 4 is stale"), std::string::npos) << message;
  EXPECT_EQ(write("UPDATE line SET fence = 5, text = 'b'"), ok);
  EXPECT_EQ(write("UPDATE line SET text = 'c', fence = 7"), ok);
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 6, 'd')"),
            Code::lost);  // another row of the same resource
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('y', 6, 'd')"), ok);
  EXPECT_EQ(lines(), "1,x,7,c;2,y,6,d");
}

TEST_F(ProtectedTables, StatementsRunUnderTheFenceOfActAs) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, text) VALUES ('x', 'a'), ('x', 'b')", x(5)), ok);
  EXPECT_EQ(lines(), "1,x,5,a;2,x,5,b");
  EXPECT_EQ(write("UPDATE line SET text = text || '2'", x(6)), ok);
  EXPECT_EQ(lines(), "1,x,6,a2;2,x,6,b2");
  EXPECT_EQ(write("UPDATE line SET text = 'late' WHERE id = 1", x(5)), Code::lost);
  EXPECT_EQ(write("UPDATE line SET text = 'c', fence = 7 WHERE id = 1", x(6)), Code::lost);  // which one is it?
  EXPECT_EQ(write("UPDATE line SET text = 'c'", std::pair("y", 9)), Code::lost);             // not its rows
  EXPECT_EQ(write("DELETE FROM line WHERE id = 1", x(5)), Code::lost);
  EXPECT_EQ(write("DELETE FROM line WHERE id = 1", x(7)), ok);
  // A row that is gone is not forgotten.
  EXPECT_EQ(write("INSERT INTO line (id, owner, fence, text) VALUES (1, 'x', 6, 'again')"), Code::lost);
  EXPECT_EQ(lines(), "2,x,6,b2");
}

TEST_F(ProtectedTables, AStatementOverManyRowsIsAllOrNothing) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 5, 'a'), ('x', 5, 'b'), ('y', 9, 'c')"), ok);
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.act_as("x", 6));
  EXPECT_EQ(code_of(transaction.execute("UPDATE line SET text = text || '!'")), Code::lost);  // the third is y's
  EXPECT_EQ(code_of(transaction.execute("DELETE FROM line")), Code::lost);
  EXPECT_EQ(code_of(transaction.execute("INSERT INTO line (owner, text) VALUES ('x', 'd'), ('y', 'e')")), Code::lost);
  EXPECT_EQ(code_of(transaction.execute("UPDATE OR IGNORE line SET text = text || '!'")), Code::lost);
  must(transaction.act_as("y", 9));
  EXPECT_EQ(must(transaction.execute("UPDATE line SET text = text || '?'")), 3);
  must(transaction.commit());
  EXPECT_EQ(lines(), "1,x,6,a?;2,x,6,b?;3,y,9,c?");
}

TEST_F(ProtectedTables, ReplaceAndUpsertAreNoWayAround) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 5, 'a'), ('y', 5, 'b')"), ok);
  EXPECT_EQ(write("INSERT OR REPLACE INTO line (id, owner, fence, text) VALUES (1, 'x', 9, 'new')"), Code::lost);
  EXPECT_EQ(write("REPLACE INTO line (id, owner, text) VALUES (1, 'x', 'new')", x(4)), Code::lost);
  EXPECT_EQ(write("REPLACE INTO line (id, owner, text) VALUES (9, 'x', 'b')", x(6)), Code::lost);  // would remove y's
  EXPECT_EQ(write("REPLACE INTO line (id, owner, text) VALUES (1, 'x', 'new')", x(6)), ok);
  EXPECT_EQ(write("INSERT INTO line (id, owner, fence, text) VALUES (1, 'x', 7, 'up') ON CONFLICT (id) DO UPDATE SET "
                  "text = excluded.text"),
            Code::lost);
  EXPECT_EQ(write("INSERT INTO line (id, owner, fence, text) VALUES (1, 'x', 7, 'up') ON CONFLICT (id) DO UPDATE SET "
                  "text = excluded.text, fence = excluded.fence"),
            ok);
  EXPECT_EQ(write("INSERT INTO line (id, owner, fence, text) VALUES (1, 'x', 6, 'no') ON CONFLICT (id) DO UPDATE SET "
                  "text = excluded.text, fence = excluded.fence"),
            Code::lost);
  EXPECT_EQ(lines(), "1,x,7,up;2,y,5,b");
}

TEST_F(ProtectedTables, WithoutARowidTheyAreProtectedToo) {
  make_table(
      "CREATE TABLE line (id TEXT, part INTEGER, owner TEXT, fence INTEGER, text TEXT, PRIMARY KEY (id, part)) WITHOUT "
      "ROWID");
  must(connection.protect_table({.table = "LINE", .fence_column = "Fence", .resource_column = "OWNER"}));
  EXPECT_EQ(write("INSERT INTO line VALUES ('a', 1, 'x', NULL, 't')", x(5)), ok);
  EXPECT_EQ(write("INSERT INTO line VALUES ('a', 2, 'x', 6, 't')"), ok);
  EXPECT_EQ(write("UPDATE line SET text = 'u' WHERE part = 1", x(5)), Code::lost);  // 6 was seen
  EXPECT_EQ(write("UPDATE line SET text = 'u', part = part + 10", x(7)), ok);
  EXPECT_EQ(text_of("SELECT part, fence, text FROM line ORDER BY part"), "11,7,u;12,7,u");
  EXPECT_EQ(write("UPDATE line SET text = 'v'"), Code::lost);
  EXPECT_EQ(write("DELETE FROM line", x(6)), Code::lost);
  EXPECT_EQ(write("DELETE FROM line", x(7)), ok);
}

TEST_F(ProtectedTables, CascadesOfForeignKeysAskToo) {
  ASSERT_EQ(raw(connection.handle(), "PRAGMA foreign_keys = ON"), "");
  make_table("CREATE TABLE book (id INTEGER PRIMARY KEY)");
  make_table(
      "CREATE TABLE line (id INTEGER PRIMARY KEY, book REFERENCES book ON DELETE CASCADE ON UPDATE CASCADE, owner "
      "TEXT, fence INTEGER)");
  must(connection.protect_table({.table = "line", .resource_column = "owner"}));
  EXPECT_EQ(write("INSERT INTO book VALUES (1)"), ok);
  EXPECT_EQ(write("INSERT INTO line VALUES (1, 1, 'x', 5)"), ok);
  EXPECT_EQ(write("DELETE FROM book"), Code::lost);
  EXPECT_EQ(write("UPDATE book SET id = 2"), Code::lost);
  EXPECT_EQ(write("DELETE FROM book", x(4)), Code::lost);
  EXPECT_EQ(text_of("SELECT id, book, fence FROM line"), "1,1,5");
  EXPECT_EQ(write("UPDATE book SET id = 2", x(6)), ok);
  EXPECT_EQ(text_of("SELECT id, book, fence FROM line"), "1,2,6");
  EXPECT_EQ(write("DELETE FROM book", x(6)), ok);
  EXPECT_EQ(text_of("SELECT count(*) FROM line"), "0");
}

TEST_F(ProtectedTables, SavepointsComeAndGo) {
  protect_lines();
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.act_as("x", 5));
  must(transaction.execute("INSERT INTO line (owner, text) VALUES ('x', 'a')"));
  must(transaction.execute("SAVEPOINT s"));
  must(transaction.execute("UPDATE line SET text = 'b'"));
  EXPECT_EQ(code_of(transaction.execute("UPDATE line SET fence = 4")), Code::lost);
  must(transaction.execute("ROLLBACK TO s"));
  must(transaction.execute("RELEASE s"));
  must(transaction.execute("UPDATE line SET text = text || 'c', fence = 5"));
  must(transaction.commit());
  EXPECT_EQ(lines(), "1,x,5,ac");
}

TEST_F(ProtectedTables, E3_TheNewestGrantOfAJobCountsBeforeItsHolderHasWritten) {
  protect_lines();
  const Job stale = claimed();
  const std::string id = to_string(stale.id);
  const auto insert = [&](const Job& by, const std::string& text) {
    return write("INSERT INTO line (owner, fence, text) VALUES ('" + id + "', " + std::to_string(by.fence) + ", '" +
                 text + "')");
  };
  EXPECT_EQ(insert(stale, "a"), ok);
  const Job newest = taken_over();  // and has written nothing yet
  EXPECT_EQ(insert(stale, "late"), Code::lost);
  EXPECT_NE(message.find(std::to_string(newest.fence)), std::string::npos) << message;
  EXPECT_EQ(write("UPDATE line SET text = 'late', fence = " + std::to_string(stale.fence)), Code::lost);
  EXPECT_EQ(write("UPDATE line SET text = 'late', fence = fence"), Code::lost);
  EXPECT_EQ(write("UPDATE line SET text = 'late'", std::pair(id, stale.fence)), Code::lost);
  EXPECT_EQ(write("DELETE FROM line", std::pair(id, stale.fence)), Code::lost);
  EXPECT_EQ(write("UPDATE line SET text = 'late', fence = " + std::to_string(newest.fence + 1)),
            Code::lost);  // never granted
  EXPECT_EQ(lines(), "1," + id + "," + std::to_string(stale.fence) + ",a");
  EXPECT_EQ(write("UPDATE line SET text = 'b'", std::pair(id, newest.fence)), ok);
  EXPECT_EQ(lines(), "1," + id + "," + std::to_string(newest.fence) + ",b");
}

// The same trial as in docs/tables-postgresql.md: what a protected table alone does not refuse, and what does.
TEST_F(ProtectedTables, E3_AResourceOfYourOwnNeedsAGuardInTheTransaction) {
  make_table("CREATE TABLE account (name TEXT PRIMARY KEY, cents INTEGER, fence INTEGER)");
  must(connection.protect_table({.table = "account", .resource_column = "name"}));
  ASSERT_EQ(write("INSERT INTO account VALUES ('plain', 100, 1), ('guarded', 100, 1)"), ok);
  const Job a = claimed(), b = taken_over();
  const auto add = [&](const Job& by, const std::string& name, bool guarded) -> std::optional<Code> {
    SqliteTransaction transaction = must(connection.begin());
    if (const auto known = guarded ? transaction.guard(by) : Result<void>{}; !known) return known.error().code;
    must(transaction.execute("UPDATE account SET cents = cents + 50, fence = ?1 WHERE name = ?2", {by.fence, name}));
    return code_of(transaction.commit());
  };
  EXPECT_EQ(add(a, "plain", false), ok) << "b has not written yet, so the table knows no newer fence than a's";
  EXPECT_EQ(add(b, "plain", false), ok);
  EXPECT_EQ(add(a, "guarded", true), Code::lost);
  EXPECT_EQ(add(b, "guarded", true), ok);
  EXPECT_EQ(text_of("SELECT name, cents FROM account ORDER BY name"), "guarded,150;plain,200");
}

TEST_F(ProtectedTables, AJobThatIsGoneWritesNothing) {
  protect_lines();
  const Job job = claimed();
  must(store->remove_namespace("default", {.actor = "test", .reason = {}}));
  EXPECT_EQ(write("INSERT INTO line (owner, text) VALUES ('" + to_string(job.id) + "', 'late')",
                  std::pair(to_string(job.id), job.fence)),
            Code::lost);
}

TEST_F(ProtectedTables, WithoutAResourceColumnEachRowStandsForItself) {
  make_table("CREATE TABLE cell (id INTEGER PRIMARY KEY, fence INTEGER, text TEXT)");
  must(connection.protect_table({.table = "cell"}));
  EXPECT_EQ(write("INSERT INTO cell (text) VALUES ('a')"), Code::lost);
  EXPECT_EQ(write("INSERT INTO cell (text) VALUES ('a')", x(5)), ok);
  EXPECT_EQ(write("UPDATE cell SET text = 'b'", std::pair("y", 4)), Code::lost);
  EXPECT_EQ(write("UPDATE cell SET text = 'b'", std::pair("y", 6)), ok);
  EXPECT_EQ(write("UPDATE cell SET text = 'c', fence = 5"), Code::lost);
  EXPECT_EQ(write("DELETE FROM cell", x(5)), Code::lost);
  EXPECT_EQ(text_of("SELECT id, fence, text FROM cell"), "1,6,b");
}

TEST_F(ProtectedTables, AnAssignmentThatFailedLetsNoLaterStatementThrough) {
  make_table("CREATE TABLE purse (id INTEGER PRIMARY KEY, fence INTEGER, cents INTEGER CHECK (cents >= 0))");
  must(connection.protect_table({.table = "purse"}));
  EXPECT_EQ(write("INSERT INTO purse (fence, cents) VALUES (5, 100)"), ok);
  SqliteTransaction transaction = must(connection.begin());
  EXPECT_EQ(code_of(transaction.execute("UPDATE purse SET cents = cents - 500, fence = 7")), Code::conflict);
  EXPECT_EQ(code_of(transaction.execute("UPDATE OR IGNORE purse SET cents = cents - 500, fence = 7")), ok);
  EXPECT_EQ(code_of(transaction.execute("UPDATE purse SET cents = cents - 50")), Code::lost);
  must(transaction.act_as("x", 8));
  EXPECT_EQ(code_of(transaction.execute("UPDATE purse SET cents = cents - 1")), ok);
  must(transaction.commit());
  EXPECT_EQ(text_of("SELECT fence, cents FROM purse"), "8,99");
}

TEST_F(ProtectedTables, ARowChangesHandsUnderBothFences) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 5, 'a')"), ok);
  EXPECT_EQ(write("UPDATE line SET owner = 'y', fence = 3"), Code::lost);
  EXPECT_EQ(write("UPDATE line SET owner = 'y', fence = 3", x(4)), Code::lost);
  EXPECT_EQ(write("UPDATE line SET owner = 'y', fence = 3", x(5)), ok);
  EXPECT_EQ(lines(), "1,y,3,a");
}

TEST_F(ProtectedTables, OtherConnectionsAreRefusedAndToldWhy) {
  protect_lines();
  EXPECT_EQ(write("INSERT INTO line (owner, fence, text) VALUES ('x', 5, 'a')"), ok);
  sqlite3* shell = nullptr;
  ASSERT_EQ(sqlite3_open(options().path.c_str(), &shell), SQLITE_OK);
  for (const char* sql : {"UPDATE line SET text = 'b'", "UPDATE line SET fence = 99", "DELETE FROM line",
                          "INSERT INTO line (owner, fence) VALUES ('x', 99)",
                          "REPLACE INTO line (id, owner, fence) VALUES (1, 'x', 99)"}) {
    const std::string said = raw(shell, sql);
    EXPECT_NE(said.find("fenceline_protects_this_table_write_through_SqliteStore_connect"), std::string::npos)
        << sql << ": " << said;
  }
  EXPECT_EQ(text_of(shell, "SELECT text FROM line"), "a");  // reading is free
  sqlite3_close(shell);
  SqliteConnection elsewhere = must(store->connect({.ns = "other"}));
  SqliteTransaction transaction = must(elsewhere.begin());
  EXPECT_EQ(code_of(transaction.execute("UPDATE line SET fence = 99")), Code::lost);
}

TEST_F(ProtectedTables, AreNotUndoneBySqlButByACall) {
  protect_lines();
  for (const char* sql :
       {"DROP TRIGGER fenceline_gate_update_line", "DROP TABLE line", "ALTER TABLE line RENAME TO other",
        "ALTER TABLE Line ADD COLUMN more", "DROP TABLE fenceline_fence", "DELETE FROM fenceline_fence"})
    EXPECT_EQ(write(sql), Code::refused) << sql;
  must(connection.protect_table({.table = "line", .resource_column = "owner"}));  // again: ok
  EXPECT_EQ(write("INSERT INTO line (owner, text) VALUES ('x', 'a')"), Code::lost);
  must(connection.unprotect_table("Line"));
  must(connection.unprotect_table("line"));
  EXPECT_EQ(write("INSERT INTO line (owner, text) VALUES ('x', 'a')"), ok);
  EXPECT_EQ(write("DROP TABLE line"), ok);
}

TEST_F(ProtectedTables, RowsFromBeforeAreOfFenceZero) {
  make_table("CREATE TABLE line (id INTEGER PRIMARY KEY, owner TEXT, fence INTEGER, text TEXT)");
  EXPECT_EQ(write("INSERT INTO line (owner, text) VALUES ('x', 'a')"), ok);
  must(connection.protect_table({.table = "line", .resource_column = "owner"}));
  EXPECT_EQ(write("UPDATE line SET text = 'b'", x(1)), ok);
  EXPECT_EQ(lines(), "1,x,1,b");
}

TEST_F(ProtectedTables, WhatCannotBeProtectedIsSaid) {
  make_table("CREATE TABLE plain (x)");
  make_table("CREATE VIEW look AS SELECT 1 AS fence");
  make_table("CREATE TABLE \"odd \"\"name\"\"'s\" (id INTEGER, \"fence it\" INTEGER)");
  EXPECT_EQ(code_of(connection.protect_table({.table = "none"})), Code::not_found);
  EXPECT_EQ(code_of(connection.protect_table({.table = "plain"})), Code::not_found);
  EXPECT_EQ(code_of(connection.protect_table({.table = "plain", .fence_column = "x", .resource_column = "y"})),
            Code::not_found);
  EXPECT_EQ(code_of(connection.protect_table({.table = "look"})), Code::refused);
  EXPECT_EQ(code_of(connection.protect_table({.table = "job"})), Code::refused);
  must(connection.protect_table({.table = "odd \"name\"'s", .fence_column = "fence it"}));
  EXPECT_EQ(write("INSERT INTO \"odd \"\"name\"\"'s\" (id) VALUES (1)"), Code::lost);
  EXPECT_EQ(write("INSERT INTO \"odd \"\"name\"\"'s\" (id) VALUES (1)", x(4)), ok);
  EXPECT_EQ(text_of("SELECT \"fence it\" FROM \"odd \"\"name\"\"'s\""), "4");
}

}  // namespace
}  // namespace fenceline
