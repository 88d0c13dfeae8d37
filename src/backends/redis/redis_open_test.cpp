// Opening: what a real server is refused for, and what it is told to promise.
#include <gtest/gtest.h>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::Value;
using redis::test::from_environment;
using redis::test::Setting;

class RedisOpen : public testing::Test {
 protected:
  Result<std::unique_ptr<RedisStore>> open(RedisOptions options) {
    return RedisStore::open(runtime_, Log(null_log_sink()), std::move(options));
  }
  Error refused(RedisOptions options) {
    const Result<std::unique_ptr<RedisStore>> store = open(std::move(options));
    if (store) throw std::runtime_error("it was opened");
    return store.error();
  }
  ThreadRuntime runtime_;
  redis::test::Admin admin_{runtime_};
  const std::string url_ = redis::test::admin_url();
};

TEST_F(RedisOpen, AReplicaIsRefusedAndItsPrimaryNamed) {
  const Error error = refused({.url = from_environment("FENCELINE_TEST_REDIS_REPLICA")});
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("is a replica and does not accept writes; name its primary (127.0.0.1:"),
            std::string::npos)
      << error.message;
}

TEST_F(RedisOpen, AServerThatEvictsIsRefusedAndCanBeAccepted) {
  const Setting evicts(admin_, "maxmemory-policy", "allkeys-lru");
  const Error error = refused({.url = url_});
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("maxmemory-policy allkeys-lru"), std::string::npos) << error.message;
  const auto store = must(open({.url = url_, .accept_eviction = true}));
  EXPECT_EQ(store->profile().guarantee, GuaranteeClass::d);
}

TEST_F(RedisOpen, KeysThatAnotherVersionLaidOutAreRefused) {
  const std::string key = must(redis::parse_address(url_)).prefix + ":layout";
  EXPECT_TRUE(open({.url = url_}));
  EXPECT_EQ(admin_(redis::Command("GET").key(key)).text, "2");
  admin_(redis::Command("SET").key(key).arg("1"));
  const Error error = refused({.url = url_});
  admin_(redis::Command("DEL").key(key));
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("has keys of layout '1'"), std::string::npos) << error.message;
  EXPECT_TRUE(open({.url = url_}));
}

TEST_F(RedisOpen, AnOpenStoreWaitsForTheServerThatBeganToEvictWhenItConnectsAnew) {
  const auto store = must(open({.url = url_}));
  EXPECT_TRUE(store->workers("default"));
  const Setting evicts(admin_, "maxmemory-policy", "volatile-ttl");
  admin_.kill_others();
  const Result<std::vector<WorkerRow>> rows = store->workers("default");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Code::unavailable);
  EXPECT_NE(rows.error().message.find("maxmemory-policy volatile-ttl"), std::string::npos) << rows.error().message;
}

TEST_F(RedisOpen, TheClassIsAsTheServersOwnSettingsSay) {
  const Setting none(admin_, "appendonly", "no");
  EXPECT_EQ(must(open({.url = url_}))->profile().guarantee, GuaranteeClass::c);
  const Setting file(admin_, "appendonly", "yes");
  const Setting always(admin_, "appendfsync", "always");
  const StoreProfile profile = must(open({.url = url_}))->profile();
  EXPECT_EQ(profile.guarantee, GuaranteeClass::b);
  EXPECT_EQ(profile.kind, "redis");
  EXPECT_EQ(profile.reasons.front(),
            "appendonly yes and appendfsync always: a write is on the server's disk before it is acknowledged");
  const Setting everysec(admin_, "appendfsync", "everysec");
  EXPECT_EQ(must(open({.url = url_}))->profile().guarantee, GuaranteeClass::c);
}

TEST_F(RedisOpen, AUserWhoMayNotAskForSettingsWorksInTheLowerClassAndOneWhoMayNotLookIsToldWhat) {
  const Setting file(admin_, "appendonly", "yes");
  const Setting always(admin_, "appendfsync", "always");
  RedisKeys keys("users");
  const auto as_user = [&](const std::string& rights) {
    const Value made = admin_(Command("ACL")
                                  .arg("SETUSER")
                                  .arg("bob")
                                  .arg("reset")
                                  .arg("on")
                                  .arg(">bobs")
                                  .arg("~*")
                                  .arg("&*")
                                  .arg("+@all")
                                  .arg(rights));
    if (made.is_error()) throw std::runtime_error(made.text);
    return url_.substr(0, url_.find('?')) + "?user=bob&prefix=" + keys.prefix();
  };
  ::setenv("REDISCLI_AUTH", "bobs", 1);
  const StoreProfile profile = must(open({.url = as_user("-config")}))->profile();
  EXPECT_EQ(profile.guarantee, GuaranteeClass::c);
  EXPECT_TRUE(profile.reasons.front().starts_with("CONFIG GET is not allowed to this user")) << profile.reasons.front();
  const Error error = refused({.url = as_user("-info")});
  ::unsetenv("REDISCLI_AUTH");
  admin_(Command("ACL").arg("DELUSER").arg("bob"));
  EXPECT_EQ(error.code, Code::denied);
  EXPECT_TRUE(error.message.ends_with("on the server run: ACL SETUSER bob +info")) << error.message;
}

TEST_F(RedisOpen, AServerThatIsNotThereIsUnavailableWithinTheTime) {
  const Instant asked = runtime_.now();
  const Error error = refused({.url = "redis://127.0.0.1:1", .open_timeout = 200ms});
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_LT(runtime_.now() - asked, 20s);
}

}  // namespace
}  // namespace fenceline::test
