#include "backends/redis/redis_connection.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/redis/client_name.hpp"
#include "backends/redis/redis_tls.hpp"
#include "runtime/poll_until.hpp"

namespace fenceline::redis {
namespace {

constexpr std::size_t kRoom = std::size_t{16} << 10;
constexpr int kIdleSeconds = 30;  // then the kernel asks whether the other machine is still there

using Tried = std::expected<UniqueFd, std::string>;  // or why not

Tried open_socket(const Clock& clock, int family, const sockaddr* address, socklen_t size, Instant deadline,
                  const std::stop_token& stop) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return std::unexpected(std::string(std::strerror(errno)));
  if (::connect(socket.get(), address, size) == 0) return socket;
  if (errno != EINPROGRESS) return std::unexpected(std::string(std::strerror(errno)));
  if (!poll_until(clock, socket.get(), POLLOUT, deadline, stop))
    return std::unexpected(std::string("no reply in time"));
  int error = 0;
  socklen_t error_size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  if (error != 0) return std::unexpected(std::string(std::strerror(error)));
  return socket;
}

Tried open_unix(const Clock& clock, const std::string& path, Instant deadline, const std::stop_token& stop) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::unexpected(std::string("its path is too long"));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return open_socket(clock, AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline, stop);
}

// A name may have several addresses: what is left of the time is shared by those that are left.
Tried open_tcp(const Clock& clock, const Address& where, Instant deadline, const std::stop_token& stop) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(where.host.c_str(), where.port.c_str(), &wanted, &found);
  if (error != 0) return std::unexpected(std::string(::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> kept(found, &::freeaddrinfo);
  std::int64_t left = 0;
  for (const addrinfo* each = found; each; each = each->ai_next) ++left;
  Tried tried = std::unexpected(std::string("it has no address"));
  for (const addrinfo* each = found; each && !tried && !stop.stop_requested(); each = each->ai_next, --left) {
    const Instant now = clock.now();
    tried = open_socket(clock, each->ai_family, each->ai_addr, each->ai_addrlen,
                        now + std::max(deadline - now, Duration{0}) / left, stop);
  }
  return tried;
}

void set_option(int socket, int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); }

// Blocking, with an end to each read: so that a read is one system call.
void make_blocking(int socket) {
  const int flags = ::fcntl(socket, F_GETFL);
  ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK);
  timeval slice{};
  slice.tv_usec = static_cast<suseconds_t>(kReadSlice.count());
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
}

bool must_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::Connection(const Clock& clock, UniqueFd socket) : clock_(clock), socket_(std::move(socket)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::connect(const Clock& clock, const Address& address, Instant deadline,
                                                        const std::stop_token& stop) {
  const auto interrupted = [&] {
    return fail(Code::held, "interrupted before " + address.shown + " replied; nothing was changed");
  };
  Tried tried =
      address.host.empty() ? open_unix(clock, address.path, deadline, stop) : open_tcp(clock, address, deadline, stop);
  if (!tried && stop.stop_requested()) return interrupted();
  if (!tried) return std::unexpected(not_reached(address.shown, tried.error()));
  if (!address.host.empty()) {
    set_option(tried->get(), IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(tried->get(), SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(tried->get(), IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
    set_option(tried->get(), IPPROTO_TCP, TCP_KEEPINTVL, kIdleSeconds / 3);
  }
  make_blocking(tried->get());
  std::unique_ptr<Connection> made(new Connection(clock, std::move(*tried)));
  Result<void> ready;
  if (address.tls) ready = made->shake_hands(address, deadline, stop);
  if (ready) ready = made->log_in(address, deadline, stop);
  if (ready) return made;
  if (stop.stop_requested()) return interrupted();
  return std::unexpected(ready.error());
}

Result<void> Connection::shake_hands(const Address& address, Instant deadline, const std::stop_token& stop) {
  Result<std::unique_ptr<TlsSession>> session = TlsSession::start(address);
  if (!session) return std::unexpected(session.error());
  tls_ = std::move(*session);
  received_.resize(kRoom);
  std::size_t came = 0;
  for (;;) {
    const Result<bool> done = tls_->handshake(std::string_view(received_).substr(0, came));
    // The other side shall hear why, too.
    const Result<bool> sent = send_encrypted();
    if (!done && done.error().code == Code::denied)
      return fail(Code::denied, address.shown + ": certificate verification failed: " + one_line(done.error().message) +
                                    "; check ca= in the URL, and the server's certificate and its name");
    if (!done)
      return std::unexpected(
          not_reached(address.shown, done.error().message + "; does the server speak TLS on that port?"));
    if (!sent) return std::unexpected(not_reached(address.shown, sent.error().message));
    if (*done && *sent) return {};
    if (!wait(static_cast<short>(*sent ? POLLIN : POLLIN | POLLOUT), deadline, stop))
      return std::unexpected(not_reached(address.shown, "the TLS handshake timed out"));
    const Result<std::size_t> got = receive(received_.data(), received_.size(), Duration{0});
    if (!got)
      return std::unexpected(
          not_reached(address.shown, got.error().message + "; does the server speak TLS on that port?"));
    came = *got;
  }
}

Result<void> Connection::log_in(const Address& address, Instant deadline, const std::stop_token& stop) {
  Command hello("HELLO");
  hello.arg("3");
  if (!address.user.empty() || !address.password.empty())
    hello.arg("AUTH").arg(address.user.empty() ? "default" : address.user).arg(address.password);
  hello.arg("SETNAME").arg(client_name(::getpid()));
  std::vector<Command> commands;
  commands.push_back(std::move(hello));
  if (address.database != 0) commands.push_back(Command("SELECT").arg(address.database));
  for (const Command& command : commands) {
    const Result<Value> answer = call(command, deadline, stop);
    if (!answer) return std::unexpected(not_reached(address.shown, answer.error().message));
    if (answer->is_error()) return std::unexpected(error_of(*answer, address.shown));
  }
  return {};
}

bool Connection::wait(short events, Instant deadline, const std::stop_token& stop) const {
  return poll_until(clock_, socket_.get(), events, deadline, stop);
}

Result<Value> Connection::call(const Command& command, Instant deadline, const std::stop_token& stop) {
  std::string bytes;
  command.append_to(bytes);
  for (Result<bool> sent = write(bytes); !sent || !*sent; sent = write(bytes)) {
    if (!sent) return std::unexpected(sent.error());
    if (!wait(POLLOUT, deadline, stop)) return fail(Code::unavailable, "write timed out");
  }
  for (;;) {
    const Duration left = deadline - clock_.now();
    if (left <= Duration{0} || stop.stop_requested()) return fail(Code::in_doubt, "no reply in time");
    answers_.clear();
    const Result<bool> came = read(answers_, left);
    for (Value& answer : answers_) {
      if (answer.kind != Value::Kind::push) return std::move(answer);
    }
    if (!came) return fail(Code::in_doubt, came.error().message);
  }
}

Result<std::size_t> Connection::send_some(std::string_view bytes) {
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (must_wait(errno)) return 0;
  return fail(Code::unavailable, std::strerror(errno));
}

Result<bool> Connection::write(std::string& bytes) {
  if (tls_) {
    if (const Result<void> taken = tls_->encrypt(bytes); !taken) return std::unexpected(taken.error());
    bytes.clear();
    return send_encrypted();
  }
  std::size_t gone = 0;
  Result<std::size_t> sent = 0;
  while (gone < bytes.size()) {
    sent = send_some(std::string_view(bytes).substr(gone));
    if (!sent || *sent == 0) break;
    gone += *sent;
  }
  bytes.erase(0, gone);
  if (!sent) return std::unexpected(sent.error());
  return bytes.empty();
}

Result<bool> Connection::send_encrypted() {
  tls_->take_outgoing(encrypted_);
  while (!encrypted_.empty()) {
    const Result<std::size_t> sent = send_some(encrypted_);
    if (!sent) return std::unexpected(sent.error());
    if (*sent == 0) return false;
    encrypted_.erase(0, *sent);
  }
  return true;
}

Result<std::size_t> Connection::receive(char* room, std::size_t size, Duration at_most) {
  int flags = 0;
  if (at_most < kReadSlice) {
    pollfd waited{socket_.get(), POLLIN, 0};
    const timespec time{.tv_sec = 0, .tv_nsec = std::max<std::int64_t>(at_most.count(), 0) * 1000};
    if (::ppoll(&waited, 1, &time, nullptr) == 0) return 0;
    flags = MSG_DONTWAIT;
  }
  const ssize_t got = ::recv(socket_.get(), room, size, flags);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0 && must_wait(errno)) return 0;
  return fail(Code::broken, got == 0 ? "the server closed the connection" : std::strerror(errno));
}

Result<bool> Connection::read(std::vector<Value>& values, Duration at_most) {
  Result<std::size_t> got = 0;
  Result<void> decrypted;
  if (tls_) {
    got = receive(received_.data(), received_.size(), at_most);
    if (got && *got > 0) decrypted = tls_->decrypt(std::string_view(received_).substr(0, *got), parser_);
  } else {
    char* room = parser_.room(kRoom);
    got = receive(room, parser_.room_size(), at_most);
    if (got) parser_.added(*got);
  }
  if (!got) return std::unexpected(got.error());
  if (*got == 0) return false;
  for (;;) {
    Result<std::optional<Value>> value = parser_.next();
    if (!value) return std::unexpected(value.error());
    if (!*value) break;
    values.push_back(std::move(**value));
  }
  if (!decrypted) return std::unexpected(decrypted.error());
  return true;
}

void Connection::shut() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace fenceline::redis
