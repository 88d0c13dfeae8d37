// For tests: an HTTP server on a free port of 127.0.0.1 that says what a test wants, for what no real one says on
// demand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/unique_fd.hpp"

namespace fenceline::test {

struct HttpAsked {
  std::string method;
  std::string target;  // path and query
  std::string head;    // all of it, as it came
  std::string body;
  int connection = 0;  // from 1
};

class ScriptedHttp {
 public:
  // Answers with the bytes to send, ended by hanging up if they are empty or begin with a blank (which is not sent).
  using Answer = std::function<std::string(const HttpAsked&)>;

  explicit ScriptedHttp(Answer answer)
      : answer_(std::move(answer)), listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listening_.get(), 64) != 0 ||
        ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port for a test");
    port_ = ntohs(address.sin_port);
    accepting_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  }

  std::string url(const std::string& path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  int port() const { return port_; }
  int connections() const { return connections_; }
  std::vector<HttpAsked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  static std::string answer(int status, const std::string& body, const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(status) + " x\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  static bool readable(int fd, const std::stop_token& stop) {
    pollfd waited{fd, POLLIN, 0};
    while (!stop.stop_requested())
      if (::poll(&waited, 1, 10) > 0) return true;
    return false;
  }

  void accept_all(const std::stop_token& stop) {
    struct Peer {
      std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
      std::jthread thread = {};
    };
    std::list<Peer> peers;
    while (readable(listening_.get(), stop)) {
      UniqueFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (fd.get() < 0) continue;
      peers.remove_if(
          [](const Peer& peer) { return peer.gone->load(); });  // else a thread for each connection there ever was
      Peer& peer = peers.emplace_back();
      peer.thread = std::jthread(
          [this, number = ++connections_, gone = peer.gone, fd = std::move(fd)](const std::stop_token& asked_to_stop) {
            serve(fd.get(), number, asked_to_stop);
            *gone = true;
          });
    }
  }

  void serve(int fd, int number, const std::stop_token& stop) {
    std::string got;
    while (true) {
      std::size_t head_end;
      while ((head_end = got.find("\r\n\r\n")) == std::string::npos)
        if (!more(fd, got, stop)) return;
      HttpAsked asked{.head = got.substr(0, head_end + 2), .connection = number};
      asked.method = asked.head.substr(0, asked.head.find(' '));
      asked.target = asked.head.substr(asked.method.size() + 1,
                                       asked.head.find(' ', asked.method.size() + 1) - asked.method.size() - 1);
      std::size_t length = 0;
      std::string head = asked.head;  // names of headers are the same in either case
      for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (const auto at = head.find("\r\ncontent-length:"); at != std::string::npos)
        length = std::strtoul(head.c_str() + at + 17, nullptr, 10);
      while (got.size() < head_end + 4 + length)
        if (!more(fd, got, stop)) return;
      asked.body = got.substr(head_end + 4, length);
      got.erase(0, head_end + 4 + length);
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(asked);
      }
      std::string bytes = answer_(asked);
      const bool ends = bytes.empty() || bytes.front() == ' ';
      if (ends && !bytes.empty()) bytes.erase(0, 1);
      if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 || ends) return;
    }
  }

  static bool more(int fd, std::string& got, const std::stop_token& stop) {
    char bytes[4096];
    if (!readable(fd, stop)) return false;
    const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    got.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  Answer answer_;
  UniqueFd listening_;
  int port_ = 0;
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;
  std::vector<HttpAsked> asked_;
  std::jthread accepting_;
};

}  // namespace fenceline::test
