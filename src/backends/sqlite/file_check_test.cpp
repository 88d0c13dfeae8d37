#include "backends/sqlite/file_check.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/thread_runtime.hpp"

namespace fenceline::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteFileCheck : public testing::Test {
 protected:
  void SetUp() override {
    sqlite3* db = nullptr;
    ASSERT_EQ(::sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(db,
                             "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);"
                             "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000) "
                             "INSERT INTO t SELECT x, hex(randomblob(20)) FROM n",
                             nullptr, nullptr, nullptr),
              SQLITE_OK);
    ::sqlite3_close(db);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  ThreadRuntime runtime_;
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("file_check_" + std::to_string(::getpid()) + ".db");
};

TEST_F(SqliteFileCheck, AWholeFileIsOk) {
  const Finding finding = check_file(runtime_, path_, 10s);
  EXPECT_EQ(finding.name, "file");
  EXPECT_EQ(finding.status, FindingStatus::ok) << finding.detail;
}

TEST_F(SqliteFileCheck, ADamagedPageIsNamed) {
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(size / 2 / 4096 * 4096);
  file << std::string(4096, '\x5a');
  file.close();
  const Finding finding = check_file(runtime_, path_, 10s);
  EXPECT_EQ(finding.status, FindingStatus::bad);
  EXPECT_TRUE(finding.detail.starts_with("the file is damaged: ")) << finding.detail;
  EXPECT_FALSE(finding.remedy.empty());
}

}  // namespace
}  // namespace fenceline::sqlite
