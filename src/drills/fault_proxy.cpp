#include "drills/fault_proxy.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "drills/proxy_link.hpp"

namespace fenceline::cli {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

namespace {

constexpr int kWaiting = 64;  // connections that were not accepted yet

Result<SocketAddress> find_address(const FaultProxy::Target& target) {
  SocketAddress address;
  if (target.host.starts_with('/')) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    if (target.host.size() >= sizeof path.sun_path)
      return fail(Code::invalid, "the path of the socket is too long: " + target.host);
    std::memcpy(path.sun_path, target.host.data(), target.host.size());
    std::memcpy(&address.bytes, &path, sizeof path);
    address.size = sizeof path;
    return address;
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &wanted, &found);
  if (error != 0) return fail(Code::invalid, "unknown host '" + target.host + "': " + ::gai_strerror(error));
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

SocketAddress loopback(std::uint16_t port) {
  SocketAddress address;
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  in.sin_port = htons(port);
  std::memcpy(&address.bytes, &in, sizeof in);
  address.size = sizeof in;
  return address;
}

std::uint16_t port_of(const UniqueFd& fd) {
  sockaddr_in in{};
  socklen_t size = sizeof in;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&in), &size) != 0) return 0;
  return ntohs(in.sin_port);
}

UniqueFd make_socket(int family) { return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

// Empty if it cannot be had. Port 0: a free one.
UniqueFd bound_socket(std::uint16_t port) {
  UniqueFd fd = make_socket(AF_INET);
  const int on = 1;
  const SocketAddress address = loopback(port);
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), address.get(), address.size) != 0)
    return {};
  return fd;
}

UniqueFd listening_socket(std::uint16_t port) {
  UniqueFd fd = bound_socket(port);
  if (!fd || ::listen(fd.get(), kWaiting) != 0) return {};
  return fd;
}

// So that a small piece is seen as one.
void send_at_once(const UniqueFd& fd) {
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

// All connections, moved by one task.
class FaultProxy::Links {
 public:
  Links(Runtime& runtime, SocketAddress target, UniqueFd held, UniqueFd listener, UniqueFd wake)
      : runtime_(runtime),
        target_(target),
        held_(std::move(held)),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        port_(port_of(held_)),
        taken_(runtime.make_event()) {}

  std::uint16_t port() const { return port_; }

  // From the thread that gives orders. Returns when it is in force.
  bool order(const LinkFault& fault) {
    {
      const std::lock_guard lock(mutex_);
      order_ = fault;
    }
    wake();
    while (!taken_->wait_until(runtime_.now() + std::chrono::seconds{1})) {
    }
    return listens_;
  }

  Counts counts() const { return {connections_, swallowed_, resets_}; }

  void run(std::stop_token stop) {
    const std::stop_callback wake_up(stop, [this] { wake(); });
    while (!stop.stop_requested()) {
      take_order();
      wait_and_move();
    }
  }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  void take_order() {
    {
      const std::lock_guard lock(mutex_);
      if (!order_) return;
      fault_ = *std::exchange(order_, std::nullopt);
    }
    const bool refuses = fault_.state == LinkState::refuse;
    if (refuses) listener_.reset();
    else if (!listener_) listener_ = listening_socket(port_);
    listens_ = refuses || listener_;
    accept_all(LinkState::good);  // those that were there before the order
    for (ProxyLink& link : links_) link.turn(fault_);
    clear_up();
    taken_->notify();
  }

  void wait_and_move() {
    const Instant now = runtime_.now();
    std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    std::optional<Instant> due;
    for (const ProxyLink& link : links_) {
      watched.push_back(link.at_client(now));
      watched.push_back(link.at_server(now));
      if (const auto at = link.due(now)) due = std::min(due.value_or(*at), *at);
    }
    const int most = due ? static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*due - now).count()) : -1;
    if (::poll(watched.data(), watched.size(), most) < 0) return;
    if (watched[0].revents != 0) {
      std::uint64_t times = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &times, sizeof times);
    }
    const Instant later = runtime_.now();
    std::size_t at = 2;
    for (ProxyLink& link : links_) {
      link.move(watched[at].revents, watched[at + 1].revents, later);
      at += 2;
    }
    clear_up();
    if (watched[1].revents != 0) accept_all(fault_.state);
  }

  void accept_all(LinkState state) {
    while (listener_) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!client) return;
      connections_ += 1;
      send_at_once(client);
      bool connecting = false;
      UniqueFd server;
      if (state != LinkState::half_open) server = connect(connecting);
      ProxyLink& link = links_.emplace_back(std::move(client), std::move(server), connecting);
      // A reset is for those that were open when it was ordered.
      LinkFault fault = fault_;
      fault.state =
          state == LinkState::reset_after_apply || state == LinkState::reset_after_send ? LinkState::good : state;
      link.turn(fault);
    }
  }

  UniqueFd connect(bool& connecting) const {
    UniqueFd server = make_socket(target_.bytes.ss_family);
    if (!server) return {};
    if (target_.bytes.ss_family != AF_UNIX) send_at_once(server);
    if (::connect(server.get(), target_.get(), target_.size) == 0) return server;
    connecting = errno == EINPROGRESS;
    if (!connecting) return {};
    return server;
  }

  void clear_up() {
    for (ProxyLink& link : links_) {
      swallowed_ += link.take_swallowed();
      if (link.was_reset()) resets_ += 1;
    }
    links_.remove_if([](const ProxyLink& link) { return link.over(); });
  }

  Runtime& runtime_;
  const SocketAddress target_;
  const UniqueFd held_;  // never listens: reserves the port meanwhile
  UniqueFd listener_;
  const UniqueFd wake_;
  const std::uint16_t port_;
  const std::unique_ptr<Event> taken_;
  std::mutex mutex_;
  std::optional<LinkFault> order_;  // not yet in force
  LinkFault fault_;
  std::list<ProxyLink> links_;
  std::atomic<bool> listens_ = true;
  std::atomic<std::int64_t> connections_ = 0;
  std::atomic<std::int64_t> swallowed_ = 0;
  std::atomic<std::int64_t> resets_ = 0;
};

Result<std::unique_ptr<FaultProxy>> FaultProxy::open(Runtime& runtime, const Target& target) {
  const Result<SocketAddress> address = find_address(target);
  if (!address) return std::unexpected(address.error());
  UniqueFd held = bound_socket(0);
  UniqueFd listener = held ? listening_socket(port_of(held)) : UniqueFd{};
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener || !wake)
    return fail(Code::unavailable, std::string("cannot create a socket for the proxy: ") + std::strerror(errno));
  auto links = std::make_unique<Links>(runtime, *address, std::move(held), std::move(listener), std::move(wake));
  const std::uint16_t port = links->port();
  return std::unique_ptr<FaultProxy>(new FaultProxy(runtime, std::move(links), port));
}

FaultProxy::FaultProxy(Runtime& runtime, std::unique_ptr<Links> links, std::uint16_t port)
    : port_(port),
      links_(std::move(links)),
      task_(runtime.spawn("fault-proxy",
                          [moved = links_.get()](std::stop_token stop) { moved->run(std::move(stop)); })) {}

FaultProxy::~FaultProxy() = default;

bool FaultProxy::play(const LinkFault& fault) { return links_->order(fault); }

FaultProxy::Counts FaultProxy::counts() const { return links_->counts(); }

}  // namespace fenceline::cli
