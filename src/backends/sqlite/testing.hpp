// For the tests of this folder: a private folder that goes away, and stores opened in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "backends/sqlite/sqlite_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fenceline-XXXXXX").string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline JobId job_id(std::uint64_t number) { return make_uuid7(WallTime{}, number, number); }

inline EnqueueRequest one_job(std::uint64_t number, std::string queue = "q") {
  return {.ns = "default", .jobs = {{.id = job_id(number), .queue = std::move(queue)}}};
}

inline ClaimRequest a_claim(std::string owner, std::string request, int limit = 1) {
  return {.ns = "default",
          .queues = {"q"},
          .owner = std::move(owner),
          .request = std::move(request),
          .limit = limit,
          .ttl = std::chrono::seconds{30}};
}

// A store on a file, on real threads and a clock that moves by hand.
class SqliteFile : public testing::Test {
 protected:
  SqliteOptions options() const { return {.path = folder_ / "store.db"}; }
  Result<std::unique_ptr<SqliteStore>> try_open(SqliteOptions options) {
    return SqliteStore::open(runtime_, clock_, Log(null_log_sink()), std::move(options));
  }
  std::unique_ptr<SqliteStore> open() { return must(try_open(options())); }

  TemporaryFolder folder_;
  ThreadRuntime runtime_;
  ManualClock clock_;
};

}  // namespace fenceline::test
