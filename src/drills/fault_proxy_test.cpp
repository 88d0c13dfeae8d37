#include "drills/fault_proxy.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

#include "runtime/thread_runtime.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongest = 20s;  // of anything here that is waited for; nothing takes it

// Sends back what it gets, and remembers it.
class EchoServer {
 public:
  // On a free port, or at a path.
  explicit EchoServer(Runtime& runtime, const std::string& path = "") : wake_(::eventfd(0, EFD_CLOEXEC)) {
    listener_ = UniqueFd(::socket(path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    path.copy(un.sun_path, sizeof un.sun_path - 1);
    const auto* address =
        path.empty() ? reinterpret_cast<const sockaddr*>(&in) : reinterpret_cast<const sockaddr*>(&un);
    EXPECT_EQ(::bind(listener_.get(), address, path.empty() ? sizeof in : sizeof un), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    socklen_t size = sizeof in;
    if (path.empty()) ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&in), &size);
    port_ = ntohs(in.sin_port);
    task_ = runtime.spawn("echo", [this](std::stop_token stop) { run(std::move(stop)); });
  }

  std::uint16_t port() const { return port_; }
  std::string received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }

 private:
  void run(std::stop_token stop) {
    const std::stop_callback wake_up(stop, [this] {
      const std::uint64_t one = 1;
      EXPECT_EQ(::write(wake_.get(), &one, sizeof one), 8);
    });
    std::vector<UniqueFd> clients;
    while (!stop.stop_requested()) {
      std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const UniqueFd& client : clients) watched.push_back({client.get(), POLLIN, 0});
      if (::poll(watched.data(), watched.size(), -1) < 0) continue;
      for (std::size_t i = 0; i < clients.size(); ++i) {
        if (watched[i + 2].revents != 0 && !answer(clients[i])) clients[i].reset();
      }
      if (watched[1].revents != 0) clients.emplace_back(::accept(listener_.get(), nullptr, nullptr));
    }
  }

  bool answer(const UniqueFd& client) {
    char chunk[4096];
    const ssize_t got = ::recv(client.get(), chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    {
      const std::lock_guard lock(mutex_);
      received_.append(chunk, static_cast<std::size_t>(got));
    }
    return ::send(client.get(), chunk, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }

  UniqueFd wake_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::string received_;
  Task task_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval longest{.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(kLongest).count(), .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons(port);
    refused_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&in), sizeof in) != 0 && errno == ECONNREFUSED;
  }

  bool refused() const { return refused_; }
  void send(const std::string& text) const {
    EXPECT_EQ(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void end() const { ::shutdown(fd_.get(), SHUT_WR); }
  // What comes, up to so many bytes; then "(end)", "(reset)" or "(nothing)" if fewer came.
  std::string receive(std::size_t most) const {
    std::string text;
    while (text.size() < most) {
      char chunk[4096];
      const ssize_t got = ::recv(fd_.get(), chunk, std::min(sizeof chunk, most - text.size()), 0);
      if (got == 0) return text + "(end)";
      if (got < 0) return text + (errno == ECONNRESET ? "(reset)" : "(nothing)");
      text.append(chunk, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string ask(const std::string& text) const {
    send(text);
    return receive(text.size());
  }
  bool has_something() const {
    pollfd watched{fd_.get(), POLLIN, 0};
    return ::poll(&watched, 1, 0) != 0;
  }

 private:
  UniqueFd fd_;
  bool refused_ = false;
};

class FaultProxyTest : public testing::Test {
 protected:
  bool has_swallowed(std::int64_t bytes) {
    const Instant deadline = runtime_.now() + kLongest;
    while (proxy_->counts().swallowed < bytes && runtime_.now() < deadline) ::sched_yield();
    return proxy_->counts().swallowed == bytes;
  }
  Client client() const { return Client(proxy_->port()); }

  ThreadRuntime runtime_;
  EchoServer server_{runtime_};
  std::unique_ptr<FaultProxy> proxy_ = *FaultProxy::open(runtime_, {.host = "127.0.0.1", .port = server_.port()});
};

TEST_F(FaultProxyTest, PassesEverythingOnAndTellsTheEnd) {
  const Client one = client();
  const Client other = client();
  EXPECT_EQ(one.ask("hello"), "hello");
  EXPECT_EQ(other.ask("you too"), "you too");
  std::string much;
  for (int i = 0; i < 20'000; ++i) much += std::to_string(i);
  EXPECT_EQ(one.ask(much), much);
  one.end();
  EXPECT_EQ(one.receive(1), "(end)");
  EXPECT_EQ(other.ask("still here"), "still here");
  EXPECT_EQ(proxy_->counts().connections, 2);
  EXPECT_EQ(proxy_->counts().resets, 0);
}

TEST_F(FaultProxyTest, HalfOpenItTakesEverythingAndAnswersNothing) {
  const Client early = client();
  EXPECT_EQ(early.ask("before"), "before");
  ASSERT_TRUE(proxy_->play({.state = LinkState::half_open}));
  const Client late = client();
  EXPECT_FALSE(late.refused());
  early.send("lost");
  late.send("lost too");
  EXPECT_TRUE(has_swallowed(12));
  EXPECT_FALSE(early.has_something());
  EXPECT_FALSE(late.has_something());
  EXPECT_EQ(server_.received(), "before");

  ASSERT_TRUE(proxy_->play({}));
  EXPECT_EQ(early.receive(1), "(reset)");
  EXPECT_EQ(late.receive(1), "(reset)");
  EXPECT_EQ(client().ask("after"), "after");
}

TEST_F(FaultProxyTest, AConnectionThatLostNothingContinuesAfterIt) {
  const Client quiet = client();
  EXPECT_EQ(quiet.ask("before"), "before");
  ASSERT_TRUE(proxy_->play({.state = LinkState::half_open}));
  ASSERT_TRUE(proxy_->play({}));
  EXPECT_EQ(quiet.ask("after"), "after");
}

TEST_F(FaultProxyTest, ResetsAfterTheServerHasWhatWasAsked) {
  const Client early = client();
  EXPECT_EQ(early.ask("first "), "first ");
  ASSERT_TRUE(proxy_->play({.state = LinkState::reset_after_apply}));
  const Client late = client();
  EXPECT_EQ(early.ask("applied "), "(reset)");
  EXPECT_EQ(server_.received(), "first applied ");
  EXPECT_EQ(late.ask("good"), "good");
  EXPECT_EQ(proxy_->counts().resets, 1);
}

TEST_F(FaultProxyTest, ResetsWithoutWaitingForTheAnswer) {
  const Client early = client();
  EXPECT_EQ(early.ask("first "), "first ");
  ASSERT_TRUE(proxy_->play({.state = LinkState::reset_after_send}));
  const Client late = client();
  EXPECT_EQ(early.ask("sent "), "(reset)");
  EXPECT_EQ(late.ask("good"), "good");
  EXPECT_EQ(proxy_->counts().resets, 1);
}

TEST_F(FaultProxyTest, SlowItSendsSmallPiecesEachAfterADelay) {
  const Client one = client();
  EXPECT_EQ(one.ask("x"), "x");
  ASSERT_TRUE(proxy_->play({.state = LinkState::slow, .delay = 5ms, .piece = 3}));
  const Instant asked = runtime_.now();
  EXPECT_EQ(one.ask("thirty bytes in pieces of three"), "thirty bytes in pieces of three");
  EXPECT_GE(runtime_.now() - asked, 11 * 5ms);
  ASSERT_TRUE(proxy_->play({.state = LinkState::slow, .delay = 1h, .piece = 3}));
  one.send("y");
  ASSERT_TRUE(proxy_->play({}));  // nothing waits any longer
  EXPECT_EQ(one.receive(1), "y");
}

TEST_F(FaultProxyTest, RefusesAndComesBackOnTheSamePort) {
  const Client early = client();
  EXPECT_EQ(early.ask("before"), "before");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(proxy_->play({.state = LinkState::refuse}));
    EXPECT_TRUE(client().refused());
    ASSERT_TRUE(proxy_->play({}));
    EXPECT_EQ(client().ask("after"), "after");
  }
  EXPECT_EQ(early.receive(1), "(reset)");
}

TEST_F(FaultProxyTest, LeadsToAUnixSocketToo) {
  std::string pattern = testing::TempDir() + "proxy-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  {
    EchoServer local(runtime_, pattern + "/socket");
    const auto proxy = FaultProxy::open(runtime_, {.host = pattern + "/socket"});
    ASSERT_TRUE(proxy);
    EXPECT_EQ(Client((*proxy)->port()).ask("hello"), "hello");
    EXPECT_EQ(local.received(), "hello");
  }
  std::filesystem::remove_all(pattern);
}

TEST_F(FaultProxyTest, WithoutAListenerTheConnectionIsReset) {
  std::uint16_t nobody = 0;
  {
    const EchoServer gone(runtime_);
    nobody = gone.port();
  }
  const auto proxy = FaultProxy::open(runtime_, {.host = "127.0.0.1", .port = nobody});
  ASSERT_TRUE(proxy);
  EXPECT_EQ(Client((*proxy)->port()).receive(1), "(reset)");
  const auto nowhere = FaultProxy::open(runtime_, {.host = "/" + std::string(200, 'x')});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::invalid);
}

}  // namespace
}  // namespace fenceline::cli
