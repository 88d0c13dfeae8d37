// A TCP proxy that injects faults into connections, for drills on a store with a server: it listens on a free port of
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
  // Connections are accepted and all data is dropped, both ways, without an error, as behind a firewall
  // that has forgotten them. When it is over, each that lost a byte is reset: what came after would make no sense.
  half_open,
  // Each connection that is open now is reset once, after its next request was passed on: when the first byte of the
  // reply is here, so that the request has taken effect, and before any of it comes back. Connections opened later are
  // good.
  reset_after_apply,
  // The same, without waiting for an answer: only the server knows whether the request took effect.
  reset_after_send,
  slow,    // each piece waits for a while, both ways
  refuse,  // no listener, as if the server were gone; open connections are reset
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
