// What the client answers when the server is late, gone, restarted, refuses, or sends garbage; and that it says of
// nothing that it did not happen, if it may have.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>

#include "backends/redis/fake_server.hpp"
#include "backends/redis/redis_client.hpp"
#include "backends/redis/testing.hpp"

namespace fenceline::redis {
namespace {

using namespace std::chrono_literals;
using test::FakeServer;
using test::must;

constexpr Duration kTroubleSoon = 30s;  // long enough for a machine that is busy
const Script kTroubleAdd("return redis.call('INCRBY', KEYS[1], ARGV[1])");

class RedisTrouble : public testing::Test {
 protected:
  RedisTrouble() { admin_(Command("FLUSHALL")); }
  ~RedisTrouble() override { test::Admin{runtime_}(Command("CLIENT").arg("UNPAUSE")); }

  void pause_writes() { admin_(Command("CLIENT").arg("PAUSE").arg(60'000).arg("WRITE")); }
  void unpause() { admin_(Command("CLIENT").arg("UNPAUSE")); }
  std::int64_t count() { return whole_number(admin_(Command("GET").key("fl:n"))).value_or(0); }
  static Result<Value> add(Client& client, Duration timeout = kTroubleSoon) {
    return client.call(Command(kTroubleAdd).key("fl:n").arg(1), CallKind::change, timeout);
  }
  static Result<Value> look(Client& client, Duration timeout = kTroubleSoon) {
    return client.call(Command("GET").key("fl:n"), CallKind::look, timeout);
  }

  ThreadRuntime runtime_;
  test::Admin admin_{runtime_};
};

TEST_F(RedisTrouble, AChangeWithoutAnAnswerIsInDoubtAndALookUnavailable) {
  ClientOptions options = test::options_for(test::admin_url());
  options.silence_most = 60s;
  Client client(runtime_, std::move(options));
  must(add(client));
  pause_writes();
  const Instant began = runtime_.now();
  EXPECT_EQ(add(client, 200ms).error().code, Code::in_doubt);
  EXPECT_GE(runtime_.now() - began, 200ms);
  // It stands behind the paused one on the same connection.
  EXPECT_EQ(look(client, 100ms).error().code, Code::unavailable);
  unpause();
  EXPECT_EQ(must(look(client)).text, "2") << "it happened after all, and its answer was not taken for another's";
}

TEST_F(RedisTrouble, OneThatIsLateLeavesTheOthersAlone) {
  ClientOptions options = test::options_for(test::admin_url());
  options.silence_most = 60s;
  Client client(runtime_, std::move(options));
  must(add(client));
  pause_writes();
  std::atomic<int> answered{0};
  std::vector<Task> patient;
  for (int i = 0; i < 8; ++i)
    patient.push_back(runtime_.spawn("patient", [&](const std::stop_token&) { answered += add(client) ? 1 : 0; }));
  std::vector<Task> hasty;
  std::atomic<int> in_doubt{0};
  for (int i = 0; i < 8; ++i)
    hasty.push_back(runtime_.spawn("hasty", [&, i](const std::stop_token&) {
      const Result<Value> answer = add(client, 50ms * (i + 1));
      in_doubt += !answer && answer.error().code == Code::in_doubt ? 1 : 0;
    }));
  for (Task& task : hasty) task.join();
  EXPECT_EQ(in_doubt, 8);
  unpause();
  for (Task& task : patient) task.join();
  EXPECT_EQ(answered, 8);
  EXPECT_EQ(client.connections_made(), 1u);
  EXPECT_EQ(must(look(client)).text, "17");
}

TEST_F(RedisTrouble, AConnectionThatStaysSilentIsOpenedAnew) {
  ClientOptions options = test::options_for(test::admin_url());
  options.silence_most = 100ms;
  Client client(runtime_, std::move(options));
  must(add(client));
  pause_writes();
  EXPECT_EQ(add(client, 300ms).error().code, Code::in_doubt);
  must(look(client));  // reads are not paused, but for those behind a write
  EXPECT_EQ(client.connections_made(), 2u);
}

TEST_F(RedisTrouble, AStoppedServerIsLeftWithinTheDeadlineAndFoundAgain) {
  ClientOptions options = test::options_for(test::admin_url());
  options.silence_most = 60s;
  Client client(runtime_, std::move(options));
  must(add(client));
  ::kill(test::Server::pid(), SIGSTOP);
  // More than the socket takes: it is not all out, and what others want stands behind it.
  std::atomic<bool> began{false};
  std::atomic<bool> was_late{false};
  Command set("SET");
  set.key("fl:large").arg(std::string(8 << 20, 'x'));
  Task large = runtime_.spawn("large", [&](const std::stop_token&) {
    began = true;
    began.notify_one();
    const Result<Value> answer = client.call(set, CallKind::change, 1s);
    was_late = !answer && answer.error().code == Code::in_doubt;
  });
  began.wait(false);
  runtime_.sleep_for(300ms, {});
  const Result<Value> behind = add(client, 300ms);
  large.join();
  ::kill(test::Server::pid(), SIGCONT);
  EXPECT_TRUE(was_late);
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code, Code::unavailable) << "nothing of it was sent, and it never will be";
  EXPECT_EQ(must(look(client)).text, "1");
  EXPECT_EQ(must(client.call(Command("STRLEN").key("fl:large"), CallKind::look, kTroubleSoon)).integer, 8 << 20);
}

TEST_F(RedisTrouble, AnIdleConnectionThatTheServerEndedIsNoDoubt) {
  for (const char* url : {"FENCELINE_TEST_REDIS_ADMIN", "FENCELINE_TEST_REDIS_TLS"}) {
    Client client(runtime_, test::options_for(test::from_environment(url)));
    admin_(Command("DEL").key("fl:n"));
    for (int i = 1; i <= 5; ++i) {
      EXPECT_EQ(must(add(client)).integer, i) << url;
      admin_.kill_others();
      runtime_.sleep_for(100ms, {});
    }
    EXPECT_EQ(client.connections_made(), 5u);
  }
}

// Each add is counted as done, not done, or perhaps done, and the server has the last word.
void count_under(Runtime& runtime, Client& client, int callers, const std::function<void()>& trouble,
                 const std::function<std::int64_t()>& count) {
  std::atomic<std::int64_t> done{0}, perhaps{0}, others{0};
  std::vector<Task> tasks;
  for (int c = 0; c < callers; ++c) {
    tasks.push_back(runtime.spawn("adder", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const Result<Value> answer =
            client.call(Command(kTroubleAdd).key("fl:n").arg(1), CallKind::change, kTroubleSoon);
        if (answer) ++done;
        else if (answer.error().code == Code::in_doubt) ++perhaps;
        else if (answer.error().code != Code::unavailable) ++others;
      }
    }));
  }
  trouble();
  for (Task& task : tasks) task.request_stop();
  for (Task& task : tasks) task.join();
  EXPECT_EQ(others, 0);
  EXPECT_GT(done, 0);
  EXPECT_GE(count(), done);
  EXPECT_LE(count(), done + perhaps);
}

TEST_F(RedisTrouble, KilledConnectionsLoseAndDoubleNothing) {
  Client client(runtime_, test::options_for(test::admin_url()));
  must(add(client));
  admin_(Command("DEL").key("fl:n"));
  count_under(
      runtime_, client, 16,
      [&] {
        for (int i = 0; i < 50; ++i) {
          runtime_.sleep_for(5ms, {});
          admin_.kill_others();
        }
      },
      [&] { return count(); });
  EXPECT_GT(client.connections_made(), 10u);
}

TEST_F(RedisTrouble, ScriptsFlushedAllTheTimeAreNoTrouble) {
  Client client(runtime_, test::options_for(test::admin_url()));
  std::atomic<int> failed{0};
  std::vector<Task> tasks;
  for (int c = 0; c < 8; ++c)
    tasks.push_back(runtime_.spawn("adder", [&](const std::stop_token&) {
      for (int i = 0; i < 50; ++i) failed += add(client) ? 0 : 1;
    }));
  for (int i = 0; i < 20; ++i) admin_(Command("SCRIPT").arg("FLUSH"));
  for (Task& task : tasks) task.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(count(), 400);
}

TEST_F(RedisTrouble, AServerThatIsKilledAndComesBackIsFoundAgain) {
  Client client(runtime_, test::options_for(test::admin_url()));
  must(add(client));
  Task adder = runtime_.spawn("adder", [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Result<Value> answer = add(client, 200ms);
      EXPECT_TRUE(answer || answer.error().code == Code::unavailable || answer.error().code == Code::in_doubt)
          << answer.error().message;
    }
  });
  test::Server::kill(runtime_);
  const Result<Value> while_gone = look(client, 200ms);
  EXPECT_EQ(while_gone.error().code, Code::unavailable);
  EXPECT_EQ(while_gone.error().message.find('\n'), std::string::npos);
  test::Server::start(runtime_);
  adder.request_stop();
  adder.join();
  must(add(client));
  admin_.connect();
}

TEST_F(RedisTrouble, WhoCallsWhileTheServerStartsWaitsForIt) {
  Client client(runtime_, test::options_for(test::admin_url()));
  must(add(client));
  test::Server::kill(runtime_);
  test::Server::start(runtime_, false);
  // A call tries for some time, in case it is back; on a machine that is busy it may take more than one.
  Result<Value> answer = add(client);
  for (int i = 0; i < 20 && !answer; ++i) answer = add(client);
  EXPECT_EQ(must(answer).integer, 1);
  admin_.connect();
}

TEST_F(RedisTrouble, ALoadingServerIsWaitedFor) {
  std::atomic<int> asked{0};
  FakeServer server(runtime_, "loading", [&](const std::vector<std::string>& words, int) -> std::string {
    if (words[0] == "GET" && ++asked <= 3) return "-LOADING Redis is loading the dataset in memory\r\n";
    return "+OK\r\n";
  });
  Client client(runtime_, test::options_for(server.url()));
  EXPECT_EQ(must(look(client)).text, "OK");
  EXPECT_EQ(asked, 4);
  asked = -1'000'000;
  const Result<Value> never = look(client, 100ms);
  EXPECT_EQ(never.error().code, Code::unavailable);
  EXPECT_NE(never.error().message.find("loading"), std::string::npos);
}

TEST_F(RedisTrouble, GarbageAndAnswersToNothingEndTheConnection) {
  const char* said[] = {"hello, who is there?\r\n", "$-5\r\n", "+OK\r\n+OK\r\n", "*1\r\n", FakeServer::kHangUp};
  for (const char* bytes : said) {
    FakeServer server(runtime_, "garbage", [&](const std::vector<std::string>& words, int connection) -> std::string {
      return words[0] == "SET" && connection == 1 ? bytes : "+OK\r\n";
    });
    ClientOptions options = test::options_for(server.url());
    options.silence_most = 100ms;
    Client client(runtime_, std::move(options));
    const Result<Value> answer = client.call(Command("SET").key("a").arg("b"), CallKind::change, 300ms);
    EXPECT_TRUE(answer || answer.error().code == Code::in_doubt) << bytes;
    // An answer too many may be seen with the first or after it.
    for (int i = 0; i < 5; ++i) static_cast<void>(look(client, 300ms));
    runtime_.sleep_for(60ms, {});
    must(look(client, 20s));
    EXPECT_LE(server.connections(), 3) << bytes;
  }
}

TEST_F(RedisTrouble, ALookIsAskedAgainWhereAChangeIsInDoubt) {
  FakeServer server(runtime_, "again", [&](const std::vector<std::string>& words, int connection) -> std::string {
    return words[0] == "HELLO" || connection % 2 == 0 ? "+OK\r\n" : FakeServer::kHangUp;
  });
  Client client(runtime_, test::options_for(server.url()));
  EXPECT_EQ(must(look(client)).text, "OK");
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(RedisTrouble, AServerThatNeverGreetsIsUnavailableInTimeAndAStopIsHeard) {
  FakeServer server(runtime_, "mute", [](const std::vector<std::string>&, int) { return std::string(); });
  Client client(runtime_, test::options_for(server.url() + "?connect_timeout=50ms"));
  Instant began = runtime_.now();
  EXPECT_EQ(look(client).error().code, Code::unavailable) << "never reached before: told at once";
  EXPECT_LT(runtime_.now() - began, 20s);
  std::stop_source stop;
  Client other(runtime_, test::options_for(server.url() + "?connect_timeout=5m"));
  other.heed(stop.get_token());
  Task asker = runtime_.spawn("asker", [&](const std::stop_token&) {
    runtime_.sleep_for(100ms, {});
    stop.request_stop();
  });
  const Result<Value> stopped = look(other, 5min);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::held);
  EXPECT_TRUE(stopped.error().message.starts_with("interrupted")) << stopped.error().message;
}

TEST_F(RedisTrouble, NobodyThereIsOneLine) {
  for (const char* url :
       {"unix:/tmp/fl_nobody.sock", "redis://127.0.0.1:1", "rediss://127.0.0.1:1", "redis://no-such-host.invalid"}) {
    Client client(runtime_, test::options_for(url));
    const Result<Value> answer = look(client);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::unavailable) << answer.error().message;
    EXPECT_NE(answer.error().message.find("cannot reach"), std::string::npos);
  }
}

TEST_F(RedisTrouble, TlsIsBelievedOnlyWithTheRightAuthorityAndName) {
  const std::string url = test::from_environment("FENCELINE_TEST_REDIS_TLS");
  const std::string place = url.substr(0, url.find('?'));
  Client right(runtime_, test::options_for(url));
  EXPECT_EQ(must(right.call(Command("PING"), CallKind::look, kTroubleSoon)).text, "PONG");
  const std::string folder = test::from_environment("FENCELINE_TEST_REDIS_FOLDER");
  const std::string numeric = std::string(place).replace(place.find("localhost"), 9, "127.0.0.1");
  Client by_address(runtime_, test::options_for(numeric + "?ca=" + folder + "/ca.crt"));
  EXPECT_TRUE(by_address.call(Command("PING"), CallKind::look, kTroubleSoon));
  // Its own certificate is no authority, the system knows none of it, and its name is another.
  for (const std::string& option : {std::string(""), "?ca=" + folder + "/server.crt&server_name=example.org",
                                    "?server_name=example.org&ca=" + folder + "/ca.crt"}) {
    Client wrong(runtime_, test::options_for(place + option));
    const Result<Value> answer = wrong.call(Command("PING"), CallKind::look, kTroubleSoon);
    ASSERT_FALSE(answer) << option;
    EXPECT_EQ(answer.error().code, Code::denied) << option << answer.error().message;
    EXPECT_NE(answer.error().message.find("certificate verification failed"), std::string::npos);
  }
  Client no_file(runtime_, test::options_for(place + "?ca=" + folder + "/redis.conf"));
  EXPECT_EQ(no_file.call(Command("PING"), CallKind::look, kTroubleSoon).error().code, Code::invalid);
}

TEST_F(RedisTrouble, TlsAndPlainDoNotMix) {
  const std::string tls = test::from_environment("FENCELINE_TEST_REDIS_TLS");
  const std::string plain = test::from_environment("FENCELINE_TEST_REDIS_ACL");
  Client to_tls(runtime_, test::options_for("redis" + tls.substr(6, tls.find('?') - 6) + "?connect_timeout=2s"));
  EXPECT_EQ(to_tls.call(Command("PING"), CallKind::look, kTroubleSoon).error().code, Code::unavailable);
  Client to_plain(runtime_, test::options_for("rediss" + plain.substr(5) + "&connect_timeout=2s"));
  EXPECT_EQ(to_plain.call(Command("PING"), CallKind::look, kTroubleSoon).error().code, Code::unavailable);
}

TEST_F(RedisTrouble, AUserThatMayNotIsDenied) {
  const std::string url = test::from_environment("FENCELINE_TEST_REDIS_ACL");
  Client limited(runtime_, test::options_for(url));
  must(limited.call(Command("SET").key("limited:a").arg("1"), CallKind::change, kTroubleSoon));
  const Result<Value> other = limited.call(Command(kTroubleAdd).key("fl:n").arg(1), CallKind::change, kTroubleSoon);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::denied) << other.error().message;
  const std::string place = url.substr(url.find('@') + 1);
  for (const std::string who : {"limited:wrong@", "nobody:x@", ""}) {
    Client stranger(runtime_, test::options_for("redis://" + who + place));
    const Result<Value> answer = stranger.call(Command("PING"), CallKind::look, kTroubleSoon);
    ASSERT_FALSE(answer) << who;
    EXPECT_EQ(answer.error().code, Code::denied) << answer.error().message;
    EXPECT_EQ(answer.error().message.find("wrong"), std::string::npos)
        << "that was the password: " << answer.error().message;
  }
}

// A failover, or a mistake that is taken back: what was finished meanwhile must not be thrown away.
TEST_F(RedisTrouble, APrimaryThatIsAReplicaForAMomentIsAwayAndThenServesAgain) {
  ClientOptions options = test::options_for(test::admin_url());
  options.on_connect = [&](Connection& connection, Instant deadline) -> Result<void> {
    const Result<Value> role = connection.call(Command("ROLE"), deadline);
    if (!role) return std::unexpected(role.error());
    if (role->items.at(0).text != "master") return fail(Code::refused, "is a replica");
    return {};
  };
  Client client(runtime_, std::move(options));
  must(add(client));
  admin_(Command("REPLICAOF").arg("127.0.0.1").arg("1"));
  const Result<Value> first = add(client, 500ms);   // on the connection that is there
  const Result<Value> second = add(client, 500ms);  // on a new one
  admin_(Command("REPLICAOF").arg("NO").arg("ONE"));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::unavailable) << first.error().message;
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable) << second.error().message;
  EXPECT_EQ(must(add(client)).integer, 2);
}

TEST_F(RedisTrouble, AReplicaRefusesWrites) {
  Client client(runtime_, test::options_for(test::from_environment("FENCELINE_TEST_REDIS_REPLICA")));
  const Result<Value> answer = add(client, 500ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
  EXPECT_NE(answer.error().message.find("name the primary"), std::string::npos) << answer.error().message;
  EXPECT_FALSE(add(client, 500ms));
  EXPECT_GE(client.connections_made(), 2u) << "another may stand there by now";
}

TEST_F(RedisTrouble, AFullServerSaysSoAndChangesNothing) {
  Client client(runtime_, test::options_for(test::admin_url()));
  must(add(client));
  admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg("1"));
  EXPECT_EQ(add(client).error().code, Code::full);
  admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg("0"));
  EXPECT_EQ(must(add(client)).integer, 2);
}

TEST_F(RedisTrouble, EachNewConnectionIsLookedAtFirst) {
  std::atomic<int> looks{0};
  ClientOptions options = test::options_for(test::admin_url());
  options.on_connect = [&](Connection& connection, Instant deadline) -> Result<void> {
    const Result<Value> role = connection.call(Command("ROLE"), deadline);
    if (!role) return std::unexpected(role.error());
    if (++looks == 2) return fail(Code::unavailable, "not now");
    if (looks >= 4) return fail(Code::refused, "it evicts");
    return {};
  };
  Client client(runtime_, std::move(options));
  must(add(client));
  admin_.kill_others();
  runtime_.sleep_for(60ms, {});
  EXPECT_EQ(must(add(client)).integer, 2);
  EXPECT_EQ(looks, 3);
  admin_.kill_others();
  runtime_.sleep_for(60ms, {});
  const Result<Value> refused = add(client, 500ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::unavailable, "it evicts"}));
}

}  // namespace
}  // namespace fenceline::redis
