// One connection through the fault proxy: both its ends, and the data in between.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "drills/fault_proxy.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::cli {

class ProxyLink {
 public:
  // Both ends do not block. Without a server it can only swallow. `connecting`: it is not known yet whether anybody is
  // there.
  ProxyLink(UniqueFd client, UniqueFd server, bool connecting);

  // The link is like this from now on.
  void turn(const LinkFault& fault);

  // What to wait for at each end; no descriptor if for nothing.
  pollfd at_client(Instant now) const;
  pollfd at_server(Instant now) const;
  // When waiting data may be forwarded, if there is any.
  std::optional<Instant> due(Instant now) const;

  // Moves what can be moved.
  void move(short client_ready, short server_ready, Instant now);

  bool over() const { return over_; }
  bool was_reset() const { return reset_; }
  // Bytes that were swallowed since it was asked last.
  std::int64_t take_swallowed() { return std::exchange(swallowed_, 0); }

 private:
  // From one end to the other.
  struct Way {
    std::string bytes;
    Instant due{};        // it is not forwarded before
    bool ended = false;   // nothing more comes
    bool closed = false;  // and the other end knows
  };

  bool swallows() const { return fault_.state == LinkState::half_open || !server_; }
  void swallow(const UniqueFd& from, Way& way);
  // False if the end is gone.
  bool receive(const UniqueFd& from, Way& way, Instant now);
  bool send(const UniqueFd& to, Way& way, Instant now);
  short interest(const Way& coming, const Way& going, Instant now) const;
  void reset();

  UniqueFd client_;
  UniqueFd server_;
  Way request_;
  Way reply_;
  LinkFault fault_;
  bool connecting_;
  bool asked_ = false;   // something was passed on to the server since it last answered
  bool doomed_ = false;  // it is reset when an answer comes
  bool lost_ = false;    // some bytes are gone
  bool over_ = false;
  bool reset_ = false;
  std::int64_t swallowed_ = 0;
};

}  // namespace fenceline::cli
