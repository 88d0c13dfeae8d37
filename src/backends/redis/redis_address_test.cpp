#include "backends/redis/redis_address.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/redis/redis_errors.hpp"
#include "support/results.hpp"

namespace fenceline::redis {
namespace {

using namespace std::chrono_literals;
using fenceline::test::must;

TEST(RedisAddress, EveryPartIsRead) {
  const Address full =
      must(parse_address("redis://me:se%40cret@db.example:6380/3?prefix=app:jobs&connect_timeout=250ms"));
  EXPECT_EQ(full.user, "me");
  EXPECT_EQ(full.password, "se@cret");
  EXPECT_EQ(full.host, "db.example");
  EXPECT_EQ(full.port, "6380");
  EXPECT_EQ(full.database, 3);
  EXPECT_EQ(full.prefix, "app:jobs");
  EXPECT_EQ(full.connect_timeout, 250ms);
  EXPECT_FALSE(full.tls);
  EXPECT_EQ(full.shown, "redis://me@db.example:6380/3?prefix=app:jobs");

  const Address plain = must(parse_address("redis://localhost"));
  EXPECT_EQ(plain.port, "6379");
  EXPECT_EQ(plain.prefix, "fl");
  EXPECT_EQ(plain.shown, "redis://localhost:6379/0?prefix=fl");

  const Address tls = must(parse_address("rediss://:pw@[::1]:7000/?ca=/etc/ca.pem&server_name=redis.internal"));
  EXPECT_TRUE(tls.tls);
  EXPECT_EQ(tls.host, "::1");
  EXPECT_EQ(tls.password, "pw");
  EXPECT_EQ(tls.ca_file, "/etc/ca.pem");
  EXPECT_EQ(tls.server_name, "redis.internal");
  EXPECT_EQ(tls.shown, "rediss://[::1]:7000/0?prefix=fl");

  for (const char* url : {"unix:/run/redis.sock?db=2&user=me", "unix:///run/redis.sock?db=2&user=me"}) {
    const Address socket = must(parse_address(url));
    EXPECT_EQ(socket.path, "/run/redis.sock");
    EXPECT_EQ(socket.database, 2);
    EXPECT_EQ(socket.shown, "unix:/run/redis.sock?prefix=fl&db=2&user=me");
  }
}

TEST(RedisAddress, APasswordMayComeFromAFileOrTheEnvironment) {
  const std::string path = testing::TempDir() + "redis_password";
  std::ofstream(path) << "secret\n";
  EXPECT_EQ(must(parse_address("redis://h?password_file=" + path)).password, "secret");
  std::filesystem::remove(path);
  const auto missing = parse_address("redis://h?password_file=" + path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::unavailable);
  ::setenv("REDISCLI_AUTH", "other", 1);
  EXPECT_EQ(must(parse_address("redis://h")).password, "other");
  EXPECT_EQ(must(parse_address("redis://:mine@h")).password, "mine");
  ::unsetenv("REDISCLI_AUTH");
}

TEST(RedisAddress, ABadOneIsOneLineWithoutItsSecret) {
  const char* bad[] = {"redis:",
                       "redis://",
                       "redis://:hunter2@",
                       "redis://me:hunter2",
                       "redis://me:hunter2@h:0",
                       "redis://me:hunter2@h:65536",
                       "redis://me:hunter2@h:6379x",
                       "redis://me:hunter2@h/x",
                       "redis://me:hunter2@h/-1",
                       "redis://me:hunter2@h/1/2",
                       "redis://me:hun@ter2@h",
                       "redis://me:hun/hunter2@h",
                       "redis://me:hun#hunter2@h",
                       "redis://me:hunter2%@h",
                       "redis://me:hunter2%00@h",
                       "redis://me:hunter2@[::1",
                       "redis://me:hunter2@h h",
                       "redis://me:hunter2@h?prefix=",
                       "redis://me:hunter2@h?prefix=a{b}",
                       "redis://me:hunter2@h?prefix=a&prefix=b",
                       "redis://me:hunter2@h?hunter2",
                       "redis://me:hunter2@h?unknown=hunter2",
                       "redis://me:hunter2@h?connect_timeout=5",
                       "redis://me:hunter2@h?ca=/x",
                       "redis://me:hunter2@h?user=you",
                       "redis://me:hunter2@h?password_file=/hunter2",
                       "redis://me:hunter2@h/1?db=2",
                       "rediss://me:hunter2@h?ca=",
                       "unix:",
                       "unix:hunter2.sock",
                       "unix:/",
                       "unix:/hunter2?db=x",
                       "http://hunter2@h"};
  for (const char* url : bad) {
    const Result<Address> address = parse_address(url);
    ASSERT_FALSE(address) << url;
    const std::string& message = address.error().message;
    EXPECT_EQ(address.error().code, Code::invalid) << url;
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_GT(message.size(), 20u) << url;
  }
  EXPECT_FALSE(parse_address("unix:/" + std::string(200, 'x')));
}

TEST(RedisErrors, EachHasItsCodeAndOneLine) {
  const std::pair<const char*, Code> words[] = {
      {"LOADING Redis is loading the dataset in memory", Code::unavailable},
      {"BUSY Redis is busy running a script", Code::unavailable},
      {"MASTERDOWN Link with MASTER is down", Code::unavailable},
      {"NOREPLICAS Not enough good replicas to write", Code::unavailable},
      {"ERR max number of clients reached", Code::unavailable},
      {"READONLY You can't write against a read only replica.", Code::unavailable},
      {"MOVED 1234 127.0.0.1:7001", Code::refused},
      {"NOSCRIPT No matching script", Code::refused},
      {"ERR something\r\n else", Code::refused},
      {"OOM command not allowed when used memory > 'maxmemory'.", Code::full},
      {"MISCONF Redis is configured to save RDB snapshots", Code::full},
      {"NOPERM this user has no permissions", Code::denied},
      {"NOAUTH Authentication required.", Code::denied},
      {"WRONGPASS invalid username-password pair", Code::denied},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", Code::conflict},
      {"ERR DB index is out of range", Code::invalid},
      {"FLHELD lock a is held", Code::held},
      {"FLINVALID no", Code::invalid}};
  for (const auto& [text, code] : words) {
    const Error error = error_of(Value{.kind = Value::Kind::error, .text = text}, "redis://h:6379/0?prefix=fl");
    EXPECT_EQ(error.code, code) << text;
    EXPECT_EQ(error.message.find_first_of("\r\n"), std::string::npos);
  }
  EXPECT_EQ(error_of(Value{.kind = Value::Kind::error, .text = "FLHELD lock a is held"}, "x").message,
            "lock a is held");
  EXPECT_EQ(without_answer(CallKind::look, "x").code, Code::unavailable);
  EXPECT_EQ(without_answer(CallKind::change, "x").code, Code::in_doubt);
}

}  // namespace
}  // namespace fenceline::redis
