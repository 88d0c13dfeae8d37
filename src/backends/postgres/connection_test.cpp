// Connecting to a server that takes the connection and never says a word, as one that is stopped or a wrong port does.
#include "backends/postgres/connection.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/thread_runtime.hpp"
#include "support/results.hpp"

namespace fenceline::postgres {
namespace {

using namespace std::chrono_literals;

// The kernel takes connections for it; nobody answers.
class MuteServer {
 public:
  MuteServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_, 16) != 0)
      throw std::runtime_error("no port is free");
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~MuteServer() { ::close(socket_); }
  MuteServer(const MuteServer&) = delete;
  MuteServer& operator=(const MuteServer&) = delete;
  const std::string& port() const { return port_; }

 private:
  int socket_;
  std::string port_;
};

class PostgresConnecting : public testing::Test {
 protected:
  // Asked to stop once it waits, or before.
  void expect_heard(const std::string& url, bool before) {
    std::stop_source stop;
    if (before) stop.request_stop();
    Task asker = runtime_.spawn("asker", [&](const std::stop_token&) {
      runtime_.sleep_for(200ms, {});
      stop.request_stop();
    });
    const Instant began = runtime_.now();
    const auto made = Connection::connect(runtime_, test::must(parse_dsn(url)), began + 60s, stop.get_token());
    EXPECT_LT(runtime_.now() - began, 30s);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::held);
    EXPECT_TRUE(made.error().message.starts_with("interrupted")) << made.error().message;
    EXPECT_EQ(made.error().message.find("secret"), std::string::npos);
  }

  ThreadRuntime runtime_;
};

TEST_F(PostgresConnecting, AStopIsHeardWhileAServerDoesNotAnswer) {
  const MuteServer mute;
  for (const bool before : {false, true}) expect_heard("postgres://me:secret@127.0.0.1:" + mute.port() + "/db", before);
}

TEST_F(PostgresConnecting, AStopIsHeardWhileSeveralServersDoNotAnswer) {
  const MuteServer one, other;
  expect_heard("postgres://me:secret@127.0.0.1:" + one.port() + ",127.0.0.1:" + other.port() + "/db", false);
}

TEST_F(PostgresConnecting, WithoutAStopTheDeadlineCounts) {
  const MuteServer mute;
  std::stop_source nobody;
  const Instant began = runtime_.now();
  const auto made =
      Connection::connect(runtime_, test::must(parse_dsn("postgres://me@127.0.0.1:" + mute.port() + "/db")),
                          began + 300ms, nobody.get_token());
  EXPECT_GE(runtime_.now() - began, 300ms);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::unavailable);
}

}  // namespace
}  // namespace fenceline::postgres
