// What the doctor sees of a real server: each setting is changed from outside, seen, and gone when the command that the
// finding names was run.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/redis/store_testing.hpp"
#include "support/findings.hpp"
#include "support/shell_line.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::test::Setting;

class RedisExamine : public testing::Test {
 protected:
  Finding seen(const std::string& name) { return named_in(must(store_->examine()), name); }
  // Sees it, runs what it says, and sees it gone.
  void expect_mended(const std::string& name) {
    const Finding found = seen(name);
    expect_whole(found);
    EXPECT_TRUE(run(found.remedy)) << found.remedy;
    EXPECT_EQ(seen(name).status, FindingStatus::ok) << seen(name).detail << " after " << found.remedy;
  }
  // As an operator would, with the password where redis-cli looks for it.
  bool run(const std::string& remedy) {
    return run_line(remedy, {{"REDISCLI_AUTH", must(redis::parse_address(redis::test::admin_url())).password}});
  }

  ThreadRuntime runtime_;
  redis::test::Admin admin_{runtime_};
  RedisKeys keys_{"examine"};
  std::unique_ptr<RedisStore> store_ = must(RedisStore::open(
      runtime_, Log(null_log_sink()),
      {.url = redis::test::admin_url() + (redis::test::admin_url().find('?') == std::string::npos ? "?" : "&") +
              "prefix=" + keys_.prefix()}));
};

TEST_F(RedisExamine, LooksAtAllOfTheServerAndAFindingThatIsNotOkSaysWhyAndWhatToDo) {
  must(store_->acquire({.ns = "default", .names = {"l"}, .owner = "a", .request = "r", .ttl = 1h}));
  const std::vector<Finding> findings = must(store_->examine());
  for (const char* name : {"class", "version", "clock", "round_trip", "memory", "eviction", "aof", "snapshot",
                           "clients", "schema", "functions", "schedules", "memory_by_kind"})
    EXPECT_EQ(std::ranges::count(findings, name, &Finding::name), 1) << name;
  for (const Finding& finding : findings) {
    expect_whole(finding, finding.status != FindingStatus::ok);
    EXPECT_NE(finding.status, FindingStatus::bad) << finding.name << ": " << finding.detail;
  }
  EXPECT_NE(seen("memory_by_kind").detail.find("lock "), std::string::npos) << seen("memory_by_kind").detail;
}

TEST_F(RedisExamine, AnEvictingServerIsBadAndItsClassIsSeenToFall) {
  const Setting evicts(admin_, "maxmemory-policy", "allkeys-random");
  expect_whole(seen("class"));
  EXPECT_TRUE(seen("class").detail.starts_with("D: ")) << seen("class").detail;
  expect_mended("eviction");
  EXPECT_EQ(seen("class").status, FindingStatus::ok) << seen("class").detail;
}

TEST_F(RedisExamine, MemoryThatIsNearlyUsedUpIsBad) {
  const Setting full(admin_, "maxmemory", "1000000");
  EXPECT_EQ(seen("memory").status, FindingStatus::bad) << seen("memory").detail;
  expect_mended("memory");
}

TEST_F(RedisExamine, WithoutAnAppendOnlyFileACrashTakesMore) {
  const Setting none(admin_, "appendonly", "no");
  expect_mended("aof");
}

TEST_F(RedisExamine, ConnectionsThatAreNearlyUsedUpAreAWarning) {
  const Setting few(admin_, "maxclients", "60");
  std::vector<std::unique_ptr<redis::Connection>> others;
  while (seen("clients").status == FindingStatus::ok && others.size() < 60)
    others.push_back(must(redis::Connection::connect(runtime_, must(redis::parse_address(redis::test::admin_url())),
                                                     runtime_.now() + 30s)));
  expect_mended("clients");
}

TEST_F(RedisExamine, AMarkOfTheLayoutThatIsMissingIsPutBackAndAnotherIsNamed) {
  const std::string key = keys_.prefix() + ":layout";
  admin_(Command("DEL").key(key));
  expect_mended("schema");
  admin_(Command("SET").key(key).arg("1"));
  EXPECT_EQ(seen("schema").status, FindingStatus::bad);
  EXPECT_NE(seen("schema").detail.find("says '1', and this program knows 2"), std::string::npos)
      << seen("schema").detail;
}

TEST_F(RedisExamine, ASnapshotThatFailedSaysSinceWhen) {
  const std::string file = redis::test::from_environment("FENCELINE_TEST_REDIS_FOLDER") + "/" +
                           admin_(Command("CONFIG").arg("GET").arg("dbfilename")).items.at(1).text;
  const auto becomes = [&](FindingStatus status) {
    for (const Instant end = runtime_.now() + 30s; runtime_.now() < end && seen("snapshot").status != status;
         runtime_.sleep_for(5ms, {})) {
    }
    return seen("snapshot").status == status;
  };
  const WallTime before = runtime_.wall_now();
  ASSERT_FALSE(admin_(Command("SAVE")).is_error());
  // Its place is taken by a folder: the finished file cannot be put there.
  ASSERT_TRUE(run("rm -f " + file + " && mkdir " + file));
  ASSERT_FALSE(admin_(Command("BGSAVE")).is_error());
  EXPECT_TRUE(becomes(FindingStatus::bad));
  const Finding found = seen("snapshot");
  ASSERT_TRUE(run("rmdir " + file));
  expect_whole(found);
  ASSERT_TRUE(found.since);
  EXPECT_GE(*found.since, before - 1s);
  ASSERT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_TRUE(becomes(FindingStatus::ok));
}

TEST(RedisCliLine, ReachesTheServerWithoutShowingThePassword) {
  EXPECT_EQ(redis::redis_cli_line(must(redis::parse_address("redis://:secret@db.example:7000/2"))),
            "redis-cli -h db.example -p 7000 -n 2");
  EXPECT_EQ(redis::redis_cli_line(must(redis::parse_address("unix:/run/my%20redis.sock?user=bob"))),
            "redis-cli -s '/run/my redis.sock' --user bob");
}

}  // namespace
}  // namespace fenceline::test
