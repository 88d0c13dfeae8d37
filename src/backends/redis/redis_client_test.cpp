// The client against a real server: one connection for any number of callers, scripts, many commands at once, and what
// is not awaited.
#include "backends/redis/redis_client.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "backends/redis/testing.hpp"

namespace {
std::atomic<int> sends, recvs, polls;
}

// In place of the system's, for the whole test program: so that calls can be counted.
extern "C" {
ssize_t send(int fd, const void* bytes, std::size_t size, int flags) {
  ++sends;
  return ::syscall(SYS_sendto, fd, bytes, size, flags, nullptr, 0);
}
ssize_t recv(int fd, void* bytes, std::size_t size, int flags) {
  ++recvs;
  return ::syscall(SYS_recvfrom, fd, bytes, size, flags, nullptr, nullptr);
}
int ppoll(pollfd* waited, nfds_t count, const timespec* time, const sigset_t* mask) {
  ++polls;
  timespec left = time ? *time : timespec{};
  return static_cast<int>(::syscall(SYS_ppoll, waited, count, time ? &left : nullptr, mask, _NSIG / 8));
}
}

namespace fenceline::redis {
namespace {

using namespace std::chrono_literals;
using test::must;

constexpr Duration kSoon = 30s;  // long enough for a machine that is busy

const Script kAdd("return redis.call('INCRBY', KEYS[1], ARGV[1])");
const Script kEcho("return ARGV[1]");

class RedisClient : public testing::Test {
 protected:
  RedisClient() { admin_(Command("FLUSHALL")); }

  std::int64_t connections_of_clients() {
    const std::string list = admin_(Command("CLIENT").arg("LIST").arg("TYPE").arg("normal")).text;
    std::int64_t lines = 0;
    for (const char c : list) lines += c == '\n' ? 1 : 0;
    return lines - 1;  // without the one that asks
  }

  ThreadRuntime runtime_;
  test::Admin admin_{runtime_};
};

TEST_F(RedisClient, CallsCommandsAndScripts) {
  Client client(runtime_, test::options_for(test::from_environment("FENCELINE_TEST_REDIS_ADMIN")));
  EXPECT_EQ(must(client.call(Command("SET").key("fl:a").arg("1"), CallKind::change, kSoon)).text, "OK");
  EXPECT_EQ(must(client.call(Command(kAdd).key("fl:a").arg(41), CallKind::change, kSoon)).integer, 42);
  EXPECT_TRUE(must(client.call(Command("GET").key("fl:b"), CallKind::look, kSoon)).is_nil());
  const std::string bytes("\0\r\n$5\r\n\xff", 8);
  EXPECT_EQ(must(client.call(Command(kEcho).arg(bytes), CallKind::look, kSoon)).text, bytes);
  EXPECT_EQ(client.connections_made(), 1u);
}

TEST_F(RedisClient, ALargeCommandAndALargeAnswerGoThrough) {
  Client client(runtime_, test::options_for(test::admin_url()));
  std::string large(20 << 20, 'x');
  large.back() = 'y';
  EXPECT_EQ(must(client.call(Command(kEcho).arg(large), CallKind::look, kSoon)).text, large);
}

TEST_F(RedisClient, AScriptThatTheServerForgotIsLoadedAgain) {
  Client client(runtime_, test::options_for(test::admin_url()));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(must(client.call(Command(kAdd).key("fl:n").arg(1), CallKind::change, kSoon)).integer, i);
    admin_(Command("SCRIPT").arg("FLUSH"));
  }
  std::vector<Command> many(5, Command(kAdd).key("fl:n").arg(1));
  std::set<std::int64_t> answers;
  for (const Result<Value>& answer : client.call_many(many, CallKind::change, kSoon))
    answers.insert(must(answer).integer);
  EXPECT_EQ(answers, (std::set<std::int64_t>{4, 5, 6, 7, 8}));
}

TEST_F(RedisClient, ManyCommandsInOneCallRunInTheirOrderAndEachHasItsAnswer) {
  Client client(runtime_, test::options_for(test::admin_url()));
  std::vector<Command> commands;
  commands.push_back(Command("SET").key("fl:a").arg("text"));
  commands.push_back(Command("LPUSH").key("fl:a").arg("x"));
  commands.push_back(Command(kEcho).arg("here"));
  commands.push_back(Command("GET").key("fl:a"));
  const std::vector<Result<Value>> answers = client.call_many(commands, CallKind::change, kSoon);
  EXPECT_EQ(must(answers[0]).text, "OK");
  EXPECT_EQ(answers[1].error().code, Code::conflict);
  EXPECT_EQ(must(answers[2]).text, "here");
  EXPECT_EQ(must(answers[3]).text, "text");
  EXPECT_TRUE(client.call_many({}, CallKind::change, kSoon).empty());
}

TEST_F(RedisClient, WhatIsNotAwaitedComesBeforeTheNextCall) {
  Client client(runtime_, test::options_for(test::admin_url()));
  EXPECT_EQ(client.send(Command("DEL").key("fl:a")).error().code, Code::unavailable)
      << "there is no connection before the first call";
  must(client.call(Command("SET").key("fl:a").arg("0"), CallKind::change, kSoon));
  for (int i = 1; i <= 2000; ++i)
    must(client.send(i % 2 == 0 ? Command(kAdd).key("fl:a").arg(1) : Command("INCR").key("fl:a")));
  EXPECT_EQ(must(client.call(Command("GET").key("fl:a"), CallKind::look, kSoon)).text, "2000");
}

TEST_F(RedisClient, WhatIsNotAwaitedHappensThoughTheServerForgotItsScript) {
  Client client(runtime_, test::options_for(test::admin_url()));
  must(client.call(Command(kAdd).key("fl:a").arg(1), CallKind::change, kSoon));
  admin_(Command("SCRIPT").arg("FLUSH"));
  must(client.send(Command(kAdd).key("fl:a").arg(1)));
  // Its answer is met by the next call, and it goes out again.
  must(client.call(Command("PING"), CallKind::look, kSoon));
  EXPECT_EQ(must(client.call(Command("GET").key("fl:a"), CallKind::look, kSoon)).text, "2");
}

void sixty_four_callers(Runtime& runtime, Client& client, int calls) {
  std::atomic<int> wrong{0};
  std::vector<Task> callers;
  for (int c = 0; c < 64; ++c) {
    callers.push_back(runtime.spawn("caller", [&, c](const std::stop_token&) {
      for (int i = 0; i < calls; ++i) {
        const std::string mine = std::to_string(c) + ":" + std::to_string(i);
        if (i % 10 == 9) {
          const Command pair[] = {Command(kEcho).arg(mine), Command("INCR").key("limited:count")};
          const std::vector<Result<Value>> answers = client.call_many(pair, CallKind::change, kSoon);
          if (!answers[0] || answers[0]->text != mine || !answers[1]) ++wrong;
        } else {
          const Result<Value> answer = client.call(Command(kEcho).arg(mine), CallKind::change, kSoon);
          if (!answer || answer->text != mine) ++wrong;
        }
      }
    }));
  }
  for (Task& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(whole_number(must(client.call(Command("GET").key("limited:count"), CallKind::look, kSoon))),
            64 * calls / 10);
}

TEST_F(RedisClient, SixtyFourCallersShareOneConnectionAndEachGetsItsOwnAnswer) {
  Client client(runtime_, test::options_for(test::admin_url()));
  sixty_four_callers(runtime_, client, 500);
  EXPECT_EQ(connections_of_clients(), 1);
  EXPECT_EQ(client.connections_made(), 1u);
}

TEST_F(RedisClient, SixtyFourCallersOverTlsAsALimitedUser) {
  Client client(runtime_, test::options_for(test::from_environment("FENCELINE_TEST_REDIS")));
  sixty_four_callers(runtime_, client, 100);
}

TEST_F(RedisClient, ALoneCallerIsOneWriteAndOneRead) {
  for (const char* url : {"FENCELINE_TEST_REDIS_ADMIN", "FENCELINE_TEST_REDIS_TLS"}) {
    Client client(runtime_, test::options_for(test::from_environment(url)));
    for (int i = 0; i < 3; ++i) must(client.call(Command(kEcho).arg("x"), CallKind::look, kSoon));
    // A machine that is busy for some time may make a call look whether the connection is still there, or wait once
    // more.
    int exact = 0;
    for (int i = 0; i < 100; ++i) {
      sends = recvs = polls = 0;
      must(client.call(Command(kEcho).arg("x"), CallKind::look, kSoon));
      exact += sends == 1 && recvs == 1 && polls == 0 ? 1 : 0;
    }
    EXPECT_GE(exact, 50) << url;
  }
}

}  // namespace
}  // namespace fenceline::redis
