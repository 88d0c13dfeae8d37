// For tests: a server on a unix socket that says what a test wants, for what no real one says on demand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/redis/resp.hpp"
#include "runtime/runtime.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::redis::test {

class FakeServer {
 public:
  static constexpr const char* kHangUp = "hang up";
  // Gets the words of each command, and answers with bytes: none of them, or kHangUp.
  using Answer = std::function<std::string(const std::vector<std::string>& words, int connection)>;

  FakeServer(Runtime& runtime, const std::string& name, Answer answer)
      : path_(testing::TempDir() + "fl_" + std::to_string(::getpid()) + "_" + name),
        answer_(std::move(answer)),
        listening_(make_socket()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path_.c_str());
    if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listening_.get(), 16) != 0)
      throw std::runtime_error("no socket at " + path_);
    task_ = runtime.spawn("fake_server", [this](const std::stop_token& stop) { serve(stop); });
  }
  ~FakeServer() { ::unlink(path_.c_str()); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::string url() const { return "unix:" + path_; }
  int connections() const { return connections_; }

 private:
  struct Peer {
    UniqueFd socket;
    RespParser parser;
    int number;
  };

  static UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

  void serve(const std::stop_token& stop) {
    std::vector<std::unique_ptr<Peer>> peers;
    while (!stop.stop_requested()) {
      std::vector<pollfd> waited{{listening_.get(), POLLIN, 0}};
      for (const auto& peer : peers) waited.push_back({peer->socket.get(), POLLIN, 0});
      ::poll(waited.data(), waited.size(), 10);
      std::erase_if(peers, [&](const auto& peer) { return !attend(*peer); });
      for (UniqueFd came(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)); came;
           came = UniqueFd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)))
        peers.push_back(std::make_unique<Peer>(Peer{std::move(came), RespParser{}, ++connections_}));
    }
  }

  // False: it is over.
  bool attend(Peer& peer) {
    char bytes[4096];
    const ssize_t got = ::read(peer.socket.get(), bytes, sizeof bytes);
    if (got == 0) return false;
    if (got < 0) return true;
    peer.parser.add({bytes, static_cast<std::size_t>(got)});
    for (auto command = peer.parser.next(); command && *command; command = peer.parser.next()) {
      std::vector<std::string> words;
      for (const Value& word : (*command)->items) words.push_back(word.text);
      const std::string said = answer_(words, peer.number);
      if (said == kHangUp) return false;
      if (::send(peer.socket.get(), said.data(), said.size(), MSG_NOSIGNAL) < 0) return false;
    }
    return true;
  }

  const std::string path_;
  const Answer answer_;
  UniqueFd listening_;
  std::atomic<int> connections_ = 0;
  Task task_;  // last: it uses all of the above
};

}  // namespace fenceline::redis::test
