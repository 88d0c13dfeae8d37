// What the doctor sees of a file: what another program did to it is seen, and gone when the command that the finding
// names was run.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "backends/sqlite/child_testing.hpp"
#include "backends/sqlite/lock_file.hpp"
#include "backends/sqlite/testing.hpp"
#include "support/findings.hpp"
#include "support/shell_line.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class SqliteExamine : public SqliteFile {
 protected:
  // In another process, as somebody with a tool of his own would.
  void run_outside(const std::string& sql, bool stays_open) const {
    sqlite3* outside = nullptr;
    if (sqlite3_open(options().path.c_str(), &outside) != SQLITE_OK ||
        sqlite3_exec(outside, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      ::_exit(1);
    if (!stays_open) ::_exit(0);
  }
};

TEST_F(SqliteExamine, AReaderFromOutsideThatLetsTheLogGrowIsNamedAndEnded) {
  const auto store = open();
  must(store->enqueue(one_job(1)));
  Child reader([&] { run_outside("BEGIN; SELECT count(*) FROM meta", true); });
  ASSERT_TRUE(reader.is_ready());
  std::uint64_t number = 1;
  const auto enqueue_a_mebibyte = [&] {
    EnqueueRequest request = one_job(++number);
    request.jobs[0].payload = "\"" + std::string((1 << 20) - 10, 'x') + "\"";
    must(store->enqueue(request));
  };
  EXPECT_EQ(named_in(must(store->examine()), "wal_size").status, FindingStatus::ok);
  for (int i = 0; i < 70; ++i) enqueue_a_mebibyte();
  const Finding found = named_in(must(store->examine()), "wal_size");
  expect_whole(found);
  EXPECT_NE(found.detail.find("process " + std::to_string(reader.pid()) + " ("), std::string::npos) << found.detail;
  EXPECT_EQ(found.remedy, "kill " + std::to_string(reader.pid()));
  ASSERT_TRUE(run_line(found.remedy));
  reader.end(SIGKILL);  // and reaped
  enqueue_a_mebibyte();
  enqueue_a_mebibyte();  // after the checkpoint that followed the one before
  EXPECT_EQ(named_in(must(store->examine()), "wal_size").status, FindingStatus::ok)
      << named_in(must(store->examine()), "wal_size").detail;
}

TEST_F(SqliteExamine, AWriterFromOutsideIsNamedAndEnded) {
  const auto store = open();
  Child writer([&] { run_outside("BEGIN IMMEDIATE", true); });
  ASSERT_TRUE(writer.is_ready());
  const Finding found = named_in(must(store->examine()), "write_lock");
  expect_whole(found);
  EXPECT_EQ(found.remedy, "kill " + std::to_string(writer.pid()));
  ASSERT_TRUE(run_line(found.remedy));
  writer.end(SIGKILL);
  EXPECT_EQ(named_in(must(store->examine()), "write_lock").status, FindingStatus::ok);
}

TEST_F(SqliteExamine, AProcessOfOursThatHoldsTheLockIsLookedAtFirst) {
  const auto store = open();
  Child busy([&] { must(must(sqlite::LockFile::open(options().path + "-lock")).release()->take_turn({})); });
  ASSERT_TRUE(busy.is_ready());
  const Finding found = named_in(must(store->examine()), "write_lock");
  expect_whole(found);
  const std::string pid = std::to_string(busy.pid());
  EXPECT_EQ(found.remedy, "ps -o pid,stat,etime,args -p " + pid + "; # then: kill " + pid);
  EXPECT_TRUE(run_line(found.remedy));
  EXPECT_EQ(::waitpid(busy.pid(), nullptr, WNOHANG), 0) << "that was a look: it runs";
}

TEST_F(SqliteExamine, WhatWasDroppedIsNamedAndMadeAnew) {
  { const auto made = open(); }
  ASSERT_TRUE(run_line(
      "sqlite3 " + options().path +
      " 'DROP TABLE fenceline_item; DROP INDEX fenceline_schedule_version; CREATE TABLE of_the_application (x)'"));
  Finding found;
  {
    const auto store = open();
    found = named_in(must(store->examine()), "schema");
  }
  expect_whole(found);
  EXPECT_EQ(found.detail, "table fenceline_item is missing, index fenceline_schedule_version is missing");
  ASSERT_TRUE(run_line(found.remedy)) << found.remedy;
  const auto store = open();
  EXPECT_EQ(named_in(must(store->examine()), "schema").status, FindingStatus::ok)
      << named_in(must(store->examine()), "schema").detail;
}

TEST_F(SqliteExamine, WhatIsMadeAnewWaitsForWhoHasTheFileOpen) {
  { const auto made = open(); }
  ASSERT_TRUE(run_line("sqlite3 " + options().path + " 'DROP INDEX fenceline_schedule_version'"));
  Finding found;
  {
    const auto store = open();
    found = named_in(must(store->examine()), "schema");
  }
  const std::size_t ended = found.remedy.find("fuser -k -TERM "), waited = found.remedy.find("while fuser -s "),
                    changed = found.remedy.find("sqlite3 ");
  EXPECT_LT(ended, waited) << found.remedy;
  EXPECT_LT(waited, changed) << found.remedy;
  ASSERT_NE(changed, std::string::npos) << found.remedy;
}

TEST_F(SqliteExamine, WhatOnlyABackupBringsBackIsNoLineToPaste) {
  { const auto made = open(); }
  const auto store = open();
  ASSERT_TRUE(run_line("sqlite3 " + options().path + " \"DELETE FROM meta WHERE key = 'made_at'\""));
  const Finding found = named_in(must(store->examine()), "meta");
  expect_whole(found);
  EXPECT_EQ(found.remedy, "see docs/runbooks/store-finding.md#from-a-backup");
}

TEST_F(SqliteExamine, AFindingThatIsNotOkSaysWhyAndWhatToDo) {
  SqliteOptions careless = options();
  careless.synchronous = SqliteSync::normal;
  const auto store = must(try_open(careless));
  const std::vector<Finding> findings = must(store->examine());
  EXPECT_TRUE(named_in(findings, "class").detail.starts_with("C: "));
  expect_whole(named_in(findings, "synchronous"));
  for (const Finding& finding : findings) expect_whole(finding, finding.status != FindingStatus::ok);
}

}  // namespace
}  // namespace fenceline::test
