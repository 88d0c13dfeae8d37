// Verbs as functions of the server: called by name where the server has them and lets us, by their script elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backends/redis/scripts.hpp"
#include "backends/redis/store_testing.hpp"
#include "support/shell_line.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::Value;

class RedisFunctions : public testing::Test {
 protected:
  RedisFunctions() { admin_(Command("FUNCTION").arg("FLUSH")); }
  ~RedisFunctions() override {
    admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg(0));
    admin_(Command("ACL").arg("DELUSER").arg("bob"));
  }

  std::unique_ptr<RedisStore> open(const std::string& url) {
    return must(RedisStore::open(runtime_, Log(null_log_sink()), {.url = url}));
  }
  // A store of a user who may do all but this.
  std::unique_ptr<RedisStore> open_without(const std::string& right) {
    const Value made = admin_(Command("ACL")
                                  .arg("SETUSER")
                                  .arg("bob")
                                  .arg("reset")
                                  .arg("on")
                                  .arg(">bobs")
                                  .arg("~*")
                                  .arg("&*")
                                  .arg("+@all")
                                  .arg(right));
    if (made.is_error()) throw std::runtime_error(made.text);
    const std::string url = redis::test::admin_url();
    ::setenv("REDISCLI_AUTH", "bobs", 1);
    std::unique_ptr<RedisStore> store = open(url.substr(0, url.find('?')) + "?user=bob&prefix=" + keys_.prefix());
    ::unsetenv("REDISCLI_AUTH");
    return store;
  }
  // The life of so many jobs, two calls of the way of records among them.
  void run_jobs(RedisStore& store, int count) {
    for (int i = 0; i < count; ++i) {
      const NewJob job{
          .id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q", .priority = i % 2};
      must(store.enqueue({.ns = "default", .jobs = {job}}));
      const ClaimReply claimed =
          must(store.claim({.ns = "default", .queues = {"q"}, .owner = "a", .request = to_string(job.id), .ttl = 30s}));
      ASSERT_EQ(claimed.jobs.size(), 1u);
      EXPECT_TRUE(
          must(store.settle({.ns = "default",
                             .owner = "a",
                             .settlements = {{job.id, claimed.jobs[0].job.fence, {.kind = OutcomeKind::done}}}}))
              .refused.empty());
      EXPECT_EQ(must(store.job("default", job.id))->state, JobState::done);
    }
  }
  struct Calls {
    std::int64_t functions, scripts;
  };
  // Made by `body`.
  Calls calls_of(const std::function<void()>& body) {
    admin_(Command("CONFIG").arg("RESETSTAT"));
    body();
    const std::string stats = admin_(Command("INFO").arg("commandstats")).text;
    const auto calls = [&](const std::string& command) {
      const std::size_t at = stats.find("cmdstat_" + command + ":calls=");
      return at == std::string::npos ? 0 : std::strtoll(stats.c_str() + stats.find('=', at) + 1, nullptr, 10);
    };
    return {calls("fcall"), calls("evalsha") + calls("eval")};
  }
  std::size_t libraries() {
    return admin_(Command("FUNCTION").arg("LIST").arg("LIBRARYNAME").arg(redis::library().name)).items.size();
  }

  ThreadRuntime runtime_;
  redis::test::Admin admin_{runtime_};
  RedisKeys keys_{"functions"};
};

TEST_F(RedisFunctions, AServerThatHasNoneIsGivenThemOnceAndThenCalledByName) {
  const auto store = open(keys_.url());
  run_jobs(*store, 1);
  EXPECT_EQ(libraries(), 1u);
  const Calls calls = calls_of([&] { run_jobs(*store, 4); });
  EXPECT_GE(calls.functions, 16);
  EXPECT_EQ(calls.scripts, 0);
  const Calls of_another = calls_of([&] { run_jobs(*open(keys_.url()), 1); });
  EXPECT_EQ(of_another.scripts, 0) << "a new connection finds them";
  EXPECT_EQ(libraries(), 1u);
}

TEST_F(RedisFunctions, AServerThatForgotThemIsGivenThemAgain) {
  const auto store = open(keys_.url());
  run_jobs(*store, 1);
  admin_(Command("FUNCTION").arg("FLUSH"));
  run_jobs(*store, 1);
  EXPECT_EQ(calls_of([&] { run_jobs(*store, 2); }).scripts, 0);
}

TEST_F(RedisFunctions, WhoMayNotCallOrLoadFunctionsUsesScripts) {
  for (const char* right : {"-fcall", "-function", "-function|load"}) {
    SCOPED_TRACE(right);
    admin_(Command("FUNCTION").arg("FLUSH"));
    const auto store = open_without(right);
    run_jobs(*store, 1);
    const Calls calls = calls_of([&] { run_jobs(*store, 2); });
    EXPECT_EQ(calls.functions, 0) << "not tried again on this connection";
    EXPECT_GE(calls.scripts, 8);
  }
}

TEST_F(RedisFunctions, WhoMayNotLoadThemCallsThoseThatAreThere) {
  run_jobs(*open(keys_.url()), 1);
  const auto store = open_without("-function");
  EXPECT_EQ(calls_of([&] { run_jobs(*store, 2); }).scripts, 0);
}

TEST_F(RedisFunctions, AFullServerAnswersLooksAndLetsWorkEnd) {
  const auto store = open(keys_.url());
  const NewJob job{.id = make_uuid7(runtime_.wall_now(), 0, 1), .queue = "q"};
  must(store->enqueue({.ns = "default", .jobs = {job}}));
  const ClaimReply claimed =
      must(store->claim({.ns = "default", .queues = {"q"}, .owner = "a", .request = "r", .ttl = 30s}));
  admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg(1));
  EXPECT_EQ(must(store->job("default", job.id))->state, JobState::running);
  EXPECT_EQ(
      must(store->claim({.ns = "default", .queues = {"q"}, .owner = "b", .request = "s", .ttl = 30s})).jobs.size(), 0u)
      << "there is nothing to be written down";
  const Calls calls = calls_of([&] {
    EXPECT_TRUE(
        must(store->settle({.ns = "default",
                            .owner = "a",
                            .settlements = {{job.id, claimed.jobs.at(0).job.fence, {.kind = OutcomeKind::done}}}}))
            .refused.empty());
  });
  EXPECT_EQ(calls.scripts, 0) << "what ends work is let in by name";
  EXPECT_EQ(
      code_of(store->enqueue({.ns = "default", .jobs = {{.id = make_uuid7(runtime_.wall_now(), 0, 2), .queue = "q"}}})),
      Code::full);
}

TEST_F(RedisFunctions, TheDoctorNamesLibrariesOfOtherVersions) {
  const auto store = open(keys_.url());
  run_jobs(*store, 1);
  const auto finding = [&] {
    const std::vector<Finding> findings = must(store->examine());
    return *std::ranges::find(findings, "functions", &Finding::name);
  };
  EXPECT_EQ(finding().status, FindingStatus::ok) << finding().detail;
  admin_(Command("FUNCTION")
             .arg("LOAD")
             .arg("#!lua name=fenceline_old\nredis.register_function('fenceline_old_claim', function() return 1 end)"));
  EXPECT_EQ(finding().status, FindingStatus::ok) << "during an upgrade both are in use";
  EXPECT_TRUE(finding().detail.ends_with("; of other versions of this program: fenceline_old")) << finding().detail;
  EXPECT_EQ(finding().remedy, "");
  admin_(Command("FUNCTION").arg("DELETE").arg("fenceline_old"));
  EXPECT_EQ(finding().detail, "calls go by function name");
}

TEST(RedisFunctionErrors, OnlyWhatProvesThatNothingRanIsSentAgain) {
  const auto says = [](const std::string& text) {
    return redis::is_unknown_script({.kind = Value::Kind::error, .text = text});
  };
  for (const char* text :
       {"NOSCRIPT No matching script. Please use EVAL.", "ERR Function not found",
        "NOPERM this user has no permissions to run the 'fcall' command",
        "OOM command not allowed when used memory > 'maxmemory'.", "NOREPLICAS Not enough good replicas to write.",
        "MISCONF Errors writing to the AOF file: No space left on device",
        "ERR unknown command 'FCALL', with args beginning with: 'x' '0'"})
    EXPECT_TRUE(says(text)) << text;
  for (const char* text :
       {"ERR The user executing the script can't run this command or subcommand script: fenceline_x_claim, on "
        "@user_function:2.",
        "OOM command not allowed when used memory > 'maxmemory'. script: fenceline_x_claim, on @user_function:1.",
        "ERR wrong number of arguments for 'fcall' command"})
    EXPECT_FALSE(says(text)) << text;
}

}  // namespace
}  // namespace fenceline::test
