// For tests of guarded transactions: a store with a job that was taken over, and tables of an application beside it.
#pragma once

#include <sqlite3.h>

#include "backends/sqlite/testing.hpp"
#include "fenceline/sqlite.hpp"

namespace fenceline::test {

class GuardedFile : public SqliteFile {
 protected:
  GuardedFile() : store(open()), connection(must(store->connect({}))) {}

  // One job, claimed.
  Job claimed(std::uint64_t number = 1, const std::string& owner = "a") {
    must(store->enqueue(one_job(number)));
    return claim(owner);
  }
  Job claim(const std::string& owner) {
    const ClaimReply reply = must(store->claim(a_claim(owner, owner + std::to_string(++claims_))));
    if (reply.jobs.size() != 1) throw std::runtime_error("no job was granted");
    return reply.jobs.front().job;
  }
  // The holder is paused past its lease, and another one has the job.
  Job taken_over(const std::string& owner = "b") {
    clock_.advance(std::chrono::seconds{31});
    return claim(owner);
  }

  void make_table(const std::string& sql) {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.execute(sql));
    must(transaction.commit());
  }
  std::string text_of(const std::string& sql) { return text_of(connection.handle(), sql); }
  // All values of all rows: "1,a;2,b".
  static std::string text_of(sqlite3* db, const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return sqlite3_errmsg(db);
    std::string text;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      if (!text.empty()) text += ";";
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        text += (i > 0 ? "," : "") + std::string(value ? value : "null");
      }
    }
    sqlite3_finalize(statement);
    return text;
  }
  // SQLite's own words, or nothing, for SQL that goes past our functions.
  static std::string raw(sqlite3* db, const std::string& sql) {
    return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK ? "" : sqlite3_errmsg(db);
  }

  std::unique_ptr<SqliteStore> store;
  SqliteConnection connection;

 private:
  int claims_ = 0;
};

}  // namespace fenceline::test
