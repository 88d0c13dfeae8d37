#include "drills/proxy_link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace fenceline::cli {
namespace {

constexpr std::size_t kOnTheWayMost = 256 << 10;
constexpr short kReadable = POLLIN | POLLHUP | POLLERR;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

pollfd watched(const UniqueFd& fd, short events) { return {events == 0 ? -1 : fd.get(), events, 0}; }

}  // namespace

ProxyLink::ProxyLink(UniqueFd client, UniqueFd server, bool connecting)
    : client_(std::move(client)), server_(std::move(server)), connecting_(connecting), lost_(!server_) {}

void ProxyLink::turn(const LinkFault& fault) {
  fault_ = fault;
  request_.due = reply_.due = Instant{};
  doomed_ = fault.state == LinkState::reset_after_apply;
  if (fault.state == LinkState::half_open) {
    const std::size_t gone = request_.bytes.size() + reply_.bytes.size();
    swallowed_ += static_cast<std::int64_t>(gone);
    lost_ = lost_ || gone > 0;
    request_.bytes.clear();
    reply_.bytes.clear();
  } else if (lost_ || fault.state == LinkState::refuse) {
    reset();
  }
}

short ProxyLink::interest(const Way& coming, const Way& going, Instant now) const {
  int events = 0;
  if (!coming.ended && coming.bytes.size() < kOnTheWayMost) events |= POLLIN;
  if (!going.bytes.empty() && now >= going.due) events |= POLLOUT;
  return static_cast<short>(events);
}

pollfd ProxyLink::at_client(Instant now) const {
  if (swallows()) return watched(client_, request_.ended ? short{0} : short{POLLIN});
  return watched(client_, interest(request_, reply_, now));
}

pollfd ProxyLink::at_server(Instant now) const {
  if (connecting_) return watched(server_, POLLOUT);
  if (swallows()) return watched(server_, reply_.ended || !server_ ? short{0} : short{POLLIN});
  return watched(server_, interest(reply_, request_, now));
}

std::optional<Instant> ProxyLink::due(Instant now) const {
  std::optional<Instant> first;
  for (const Way* way : {&request_, &reply_}) {
    if (!way->bytes.empty() && way->due > now) first = std::min(first.value_or(way->due), way->due);
  }
  return first;
}

void ProxyLink::swallow(const UniqueFd& from, Way& way) {
  std::array<char, 16 << 10> chunk;
  const ssize_t got = ::recv(from.get(), chunk.data(), chunk.size(), 0);
  if (got < 0 && would_block()) return;
  lost_ = true;
  if (got > 0) swallowed_ += got;
  else way.ended = true;  // nor is the other end told of that
}

bool ProxyLink::receive(const UniqueFd& from, Way& way, Instant now) {
  std::array<char, 16 << 10> chunk;
  const ssize_t got = ::recv(from.get(), chunk.data(), chunk.size(), 0);
  if (got < 0) return would_block();
  if (got == 0) way.ended = true;
  if (way.bytes.empty() && fault_.state == LinkState::slow) way.due = now + fault_.delay;
  way.bytes.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

bool ProxyLink::send(const UniqueFd& to, Way& way, Instant now) {
  if (!way.bytes.empty() && now >= way.due) {
    const bool slow = fault_.state == LinkState::slow;
    const ssize_t sent = ::send(to.get(), way.bytes.data(),
                                slow ? std::min(fault_.piece, way.bytes.size()) : way.bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && !would_block()) return false;
    if (sent > 0) {
      way.bytes.erase(0, static_cast<std::size_t>(sent));
      if (&way == &request_) asked_ = true;
      if (slow) way.due = now + fault_.delay;
    }
  }
  if (way.ended && way.bytes.empty() && !way.closed) {
    ::shutdown(to.get(), SHUT_WR);
    way.closed = true;
  }
  return true;
}

void ProxyLink::move(short client_ready, short server_ready, Instant now) {
  if (over_) return;
  if (connecting_ && server_ready != 0) {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(server_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return reset();
    connecting_ = false;
    server_ready = 0;
  }
  if (swallows()) {
    if (client_ready != 0) swallow(client_, request_);
    if (server_ready != 0) swallow(server_, reply_);
    over_ = request_.ended;  // neither side is left to notice
    return;
  }
  if ((client_ready & kReadable) != 0 && !request_.ended && !receive(client_, request_, now)) return reset();
  if ((server_ready & kReadable) != 0 && !reply_.ended) {
    if (!receive(server_, reply_, now)) return reset();
    if (doomed_ && asked_) return reset();
    asked_ = false;
  }
  if (connecting_) return;
  if (!send(server_, request_, now) || !send(client_, reply_, now)) return reset();
  if (fault_.state == LinkState::reset_after_send && asked_ && request_.bytes.empty()) return reset();
  over_ = request_.closed && reply_.closed;
}

void ProxyLink::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  client_.reset();
  server_.reset();
  over_ = reset_ = true;
}

}  // namespace fenceline::cli
