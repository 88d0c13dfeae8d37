// What a server must be, and what its settings promise.
#include "backends/redis/server_facts.hpp"

#include <gtest/gtest.h>

#include "backends/redis/wake_message.hpp"

namespace fenceline::redis {
namespace {

constexpr std::string_view kSound =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n# "
    "Replication\r\nrole:master\r\nconnected_slaves:0\r\n# Persistence\r\nloading:0\r\naof_enabled:1\r\n"
    "# Memory\r\nmaxmemory_policy:noeviction\r\n";
const std::string kUrl = "redis://db:6379/0";

std::string with(std::string_view line, std::string_view instead) {
  std::string info(kSound);
  const std::size_t at = info.find(line);
  return info.replace(at, line.size(), instead);
}

std::string refusal(const std::string& info, bool accept_eviction = false) {
  const Result<void> checked = check_server(ServerFacts(info), accept_eviction, kUrl);
  return checked ? "" : std::string(to_string(checked.error().code)) + ": " + checked.error().message;
}

StoreProfile profile(const std::string& info, const std::string& appendfsync, bool rests = false) {
  return profile_of(ServerFacts(info),
                    {.known = !appendfsync.empty(), .appendfsync = appendfsync, .fsync_rests_on_rewrite = rests}, kUrl);
}

TEST(ServerFacts, AServerThatIsNoStoreIsRefusedWithOneLineThatSaysWhatToDo) {
  EXPECT_EQ(refusal(std::string(kSound)), "");
  EXPECT_EQ(refusal(with("role:master", "role:slave\r\nmaster_host:db1\r\nmaster_port:6379")),
            "refused: redis://db:6379/0 is a replica and does not accept writes; name its primary (db1:6379)");
  EXPECT_EQ(refusal(with("loading:0", "loading:1")),
            "unavailable: redis://db:6379/0 is loading its data from disk; try again when it is done");
  EXPECT_EQ(refusal(with("redis_version:7.0.15", "redis_version:6.2.14")),
            "refused: redis://db:6379/0 is Redis 6.2.14; it must be 7.0 or later");
  EXPECT_EQ(refusal(with("redis_version:7.0.15", "redis_version:8.2.1\r\nvalkey_version:8.2.1")), "");
  EXPECT_TRUE(refusal(with("redis_mode:standalone", "redis_mode:cluster"))
                  .starts_with("refused: redis://db:6379/0 is part of a Redis Cluster"));
  EXPECT_TRUE(refusal(with("redis_mode:standalone", "redis_mode:sentinel"))
                  .starts_with("refused: redis://db:6379/0 is a Sentinel"));
}

TEST(ServerFacts, AServerThatEvictsIsRefusedUnlessThatIsAccepted) {
  const std::string evicts = with("noeviction", "allkeys-lru");
  EXPECT_EQ(refusal(evicts),
            "refused: redis://db:6379/0 may evict jobs and locks when its memory is full (maxmemory-policy "
            "allkeys-lru); on the server run: CONFIG SET maxmemory-policy noeviction, "
            "or allow it by --accept eviction");
  EXPECT_EQ(refusal(evicts, true), "");
  EXPECT_EQ(profile(evicts, "always").guarantee, GuaranteeClass::d);
}

TEST(ServerFacts, OnlyAWriteOnDiskBeforeItsAnswerIsClassB) {
  const std::string sound(kSound);
  EXPECT_EQ(profile(sound, "always").guarantee, GuaranteeClass::b);
  EXPECT_EQ(profile(sound, "always", true).guarantee, GuaranteeClass::c) << "a rewrite would suspend it";
  EXPECT_EQ(profile(sound, "everysec").guarantee, GuaranteeClass::c);
  EXPECT_EQ(profile(sound, "no").guarantee, GuaranteeClass::c);
  EXPECT_EQ(profile(with("aof_enabled:1", "aof_enabled:0"), "always").guarantee, GuaranteeClass::c);
  EXPECT_EQ(profile(sound, "").guarantee, GuaranteeClass::c);
  EXPECT_TRUE(profile(sound, "").reasons.front().starts_with("CONFIG GET is not allowed to this user"));
}

TEST(ServerFacts, ReplicasDoNotRaiseTheClassAndAreNamed) {
  const StoreProfile replicated = profile(with("connected_slaves:0", "connected_slaves:2"), "always");
  EXPECT_EQ(replicated.guarantee, GuaranteeClass::b);
  EXPECT_EQ(replicated.reasons.back(),
            "2 replicas get a write after it was acknowledged: a failover loses what had not arrived");
}

TEST(ServerFacts, SettingsAreReadFromAMapOrAListAndAnErrorIsNone) {
  const Value text[] = {{.kind = Value::Kind::blob, .text = "appendfsync"},
                        {.kind = Value::Kind::blob, .text = "always"}};
  EXPECT_EQ(settings_in({.kind = Value::Kind::map, .items = {text[0], text[1]}}).appendfsync, "always");
  EXPECT_TRUE(settings_in({.kind = Value::Kind::array, .items = {text[0], text[1]}}).known);
  EXPECT_FALSE(settings_in({.kind = Value::Kind::error, .text = "NOPERM"}).known);
  EXPECT_FALSE(settings_in({.kind = Value::Kind::map}).known);
}

TEST(WakeWords, ConcernWhomTheyName) {
  const WatchRequest request{
      .ns = "default", .queues = {"mail", "bills"}, .stage = "send", .orders = true, .locks = {"deploy"}};
  EXPECT_TRUE(concerns("q mail send", request));
  EXPECT_FALSE(concerns("q mail ", request)) << "another stage";
  EXPECT_FALSE(concerns("q ma send", request));
  EXPECT_TRUE(concerns("Q bills", request)) << "all its stages";
  EXPECT_TRUE(concerns("l deploy", request));
  EXPECT_FALSE(concerns("l deploy2", request));
  EXPECT_TRUE(concerns("o", request));
  EXPECT_FALSE(concerns("o", WatchRequest{.ns = "default", .queues = {"o"}, .stage = ""}));
  EXPECT_TRUE(concerns("q mail ", WatchRequest{.ns = "default", .queues = {"mail"}, .stage = ""}));
  for (const char* garbage : {"", "q", "q ", "q mail", "x mail", "lock"})
    EXPECT_FALSE(concerns(garbage, request)) << garbage;
}

}  // namespace
}  // namespace fenceline::redis
