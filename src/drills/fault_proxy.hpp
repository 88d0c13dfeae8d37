// A TCP proxy that plays what can befall a connection, for drills on a store behind one: it listens on a free port of
// the loopback interface, passes bytes on to the store's server, and turns bad when it is told to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::cli {

enum class LinkState {
  good,
  // Connections are accepted and what is sent is swallowed, both ways: nobody is told anything, as behind a firewall
  // that has forgotten them. When it is over, each that lost a byte is reset: what came after would make no sense.
  half_open,
  // Each connection that is open now is reset once, after its next request was passed on: when the first byte of the
  // reply is here, so that what was asked has taken effect, and before any of it comes back. Those opened later are
  // good.
  reset_after_apply,
  // The same, without waiting for an answer: whether what was asked takes effect, only the server knows.
  reset_after_send,
  slow,    // each piece waits for a while, both ways
  refuse,  // nobody listens, as if the server were gone: what is open is reset
};

struct LinkFault {
  LinkState state = LinkState::good;
  Duration delay = std::chrono::milliseconds{20};  // of slow, before each piece
  std::size_t piece = 64;                          // bytes
};

// One thread gives the orders.
class FaultProxy {
 public:
  struct Target {
    std::string host;  // a path that begins with '/': a unix socket, and the port says nothing
    std::uint16_t port = 0;
  };
  struct Counts {
    std::int64_t connections = 0;  // that came in
    std::int64_t swallowed = 0;    // bytes
    std::int64_t resets = 0;       // of connections
  };

  // `runtime` must outlive it. Errors: invalid (no such address), unavailable (no socket).
  static Result<std::unique_ptr<FaultProxy>> open(Runtime& runtime, const Target& target);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  std::uint16_t port() const { return port_; }
  // In force when it returns. False if the proxy does not listen any more, as its port could not be had again.
  bool play(const LinkFault& fault);
  // Safe to call from any thread.
  Counts counts() const;

 private:
  class Links;
  FaultProxy(Runtime& runtime, std::unique_ptr<Links> links, std::uint16_t port);

  const std::uint16_t port_;
  std::unique_ptr<Links> links_;
  Task task_;
};

}  // namespace fenceline::cli
