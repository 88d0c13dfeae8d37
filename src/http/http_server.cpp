// All that happens to connections happens on one strand, in a fiber for each, so that nothing here needs a mutex;
// handlers run beside it, on a task's own stack.
#include "http/http_server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using Strand = asio::strand<asio::io_context::executor_type>;

constexpr std::size_t kFiberStack = 128 << 10;
constexpr std::size_t kReadAtOnce = 4096;
constexpr std::size_t kDrainedMost = 1 << 20;
constexpr std::chrono::seconds kGrace{1};  // for an answer at the end, and for a peer to read what was wrong
constexpr std::chrono::milliseconds kNoRoomPause{100};  // when the process has no file descriptor left

bool has_line_end(const Header& header) {
  return (header.name + header.value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
}

// "Mon, 16 Nov 2026 14:37:54 GMT".
std::string date_text(WallTime at) {
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(at - day)};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                kDays[std::chrono::weekday{day}.c_encoding()], static_cast<unsigned>(date.day()),
                kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

// What to say about a request that cannot be read; 0: nothing, the peer is gone or too slow.
int status_of(const error_code& failed) {
  using beast::http::error;
  if (failed == error::header_limit || failed == error::buffer_overflow) return 431;
  if (failed == error::body_limit) return 413;
  if (failed == error::end_of_stream || failed == error::partial_message) return 0;
  if (failed.category() == beast::http::make_error_code(error::bad_value).category()) return 400;
  return 0;
}

HttpRequest plain(beast::http::request<beast::http::string_body>&& from) {
  HttpRequest request{
      .method = std::string(from.method_string()), .target = std::string(from.target()), .headers = {}, .body = {}};
  for (const auto& field : from)
    request.headers.push_back({lower_case(field.name_string()), std::string(field.value())});
  request.body = std::move(from.body());
  return request;
}

std::string host_and_port(const ListenAddress& address) {
  const bool v6 = address.host.contains(':');
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

// None of our sockets goes to the commands that the process starts.
constexpr int kSocketFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;

Result<UniqueFd> listen_at(const tcp::endpoint& endpoint, bool every_address, const std::string& shown) {
  UniqueFd socket(::socket(endpoint.protocol().family(), SOCK_STREAM | kSocketFlags, 0));
  const int on = 1;
  const int only_v6 = every_address ? 0 : 1;
  const auto failed = [&]() -> std::unexpected<Error> {
    const int why = errno;
    if (why == EADDRINUSE)
      return fail(Code::conflict,
                  "another process listens on " + shown + "; choose another port, or 0 for any free port");
    if (why == EACCES)
      return fail(Code::denied, "this user may not listen on " + shown + "; choose a port of 1024 or above");
    if (why == EADDRNOTAVAIL) return fail(Code::invalid, shown + " is not an address of this machine");
    return fail(Code::unavailable, "cannot listen on " + shown + ": " + std::system_category().message(why));
  };
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return failed();
  if (endpoint.protocol() == tcp::v6() &&
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) != 0)
    return failed();
  if (::bind(socket.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return failed();
  return socket;
}

// "every address" is both families where the machine has both.
Result<UniqueFd> listening_socket(const ListenAddress& address, tcp& protocol) {
  const std::string shown = host_and_port(address);
  if (address.host.empty()) {
    protocol = tcp::v6();
    Result<UniqueFd> both = listen_at(tcp::endpoint(tcp::v6(), address.port), true, shown);
    if (both || both.error().code == Code::conflict || both.error().code == Code::denied) return both;
    protocol = tcp::v4();
    return listen_at(tcp::endpoint(tcp::v4(), address.port), true, shown);
  }
  error_code failed;
  const asio::ip::address host = asio::ip::make_address(address.host, failed);
  if (failed) return fail(Code::invalid, address.host + " is not an address");
  const tcp::endpoint endpoint(host, address.port);
  protocol = endpoint.protocol();
  return listen_at(endpoint, false, shown);
}

}  // namespace

std::optional<std::string> HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Header::name);
  if (found == headers.end()) return std::nullopt;
  return found->value;
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::invalid,
                "\"" + std::string(text) +
                    "\" is not an address to listen on; write 127.0.0.1:9464, [::1]:9464, or :9464 for every address");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  ListenAddress address;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (failed != std::errc() || end != port.data() + port.size()) return wrong();
  if (host.empty()) return address;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  error_code bad;
  const asio::ip::address parsed = asio::ip::make_address(std::string(host), bad);
  if (bad || parsed.is_v6() != bracketed) return wrong();
  address.host = parsed.to_string();
  address.loopback = parsed.is_loopback();
  if (parsed.is_unspecified()) return ListenAddress{.host = bracketed ? "::" : "0.0.0.0", .port = address.port};
  return address;
}

struct HttpServer::Parts {
  enum class Doing { waiting, reading, answering };
  struct Connection {
    explicit Connection(tcp::socket socket) : stream(std::move(socket)) {}
    beast::tcp_stream stream;
    Doing doing = Doing::waiting;
    std::uint64_t since = 0;  // of what it does; a number that grows
    bool leaves = false;      // makes room for another
  };
  using Peer = std::shared_ptr<Connection>;

  Parts(Runtime& its_runtime, HttpServerOptions its_options, HttpHandler its_handler)
      : runtime(its_runtime),
        options(std::move(its_options)),
        handler(std::move(its_handler)),
        strand(asio::make_strand(context)),
        acceptor(strand),
        no_room(strand),
        grace(strand) {}

  Runtime& runtime;
  HttpServerOptions options;
  HttpHandler handler;
  asio::io_context context;
  Strand strand;
  tcp::acceptor acceptor;
  asio::steady_timer no_room, grace;
  std::map<Connection*, Peer> open;  // but those that leave
  std::uint64_t moments = 0;
  bool stopping = false;

  // What a fiber throws ends the process, as in any task.
  template <class Body>
  void fiber(Body body) {
    asio::spawn(strand, std::allocator_arg, boost::context::protected_fixedsize_stack(kFiberStack), std::move(body),
                [](std::exception_ptr thrown) {
                  if (thrown) std::rethrow_exception(thrown);
                });
  }

  void accept_all(asio::yield_context yield) {
    error_code failed;
    while (!stopping) {
      acceptor.async_wait(tcp::acceptor::wait_read, yield[failed]);
      while (!stopping) {
        UniqueFd socket(::accept4(acceptor.native_handle(), nullptr, nullptr, kSocketFlags));
        if (socket) {
          welcome(std::move(socket));
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          make_room();
          no_room.expires_after(kNoRoomPause);  // who waits outside would wake us again at once
          no_room.async_wait(yield[failed]);
          break;
        } else if (errno != EINTR && errno != ECONNABORTED) {
          break;
        }
      }
    }
  }

  // Whether one leaves: who waits for a request, or else who sends one, longest. What is answered stays.
  bool make_room() {
    Peer longest;
    for (const auto& [at, peer] : open)
      if (peer->doing != Doing::answering &&
          (!longest || std::pair(peer->doing, peer->since) < std::pair(longest->doing, longest->since)))
        longest = peer;
    if (!longest) return false;
    longest->leaves = true;
    longest->stream.close();  // it may be between two reads
    open.erase(longest.get());
    return true;
  }

  void welcome(UniqueFd socket) {
    if (open.size() >= options.connections_max && !make_room()) {
      constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      ::send(socket.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ::shutdown(socket.get(), SHUT_WR);
      return;
    }
    error_code failed;
    tcp::socket made(strand);
    made.assign(tcp::v4(), socket.get(), failed);  // the family is asked for nowhere
    if (failed) return;
    socket.release();
    const Peer peer = std::make_shared<Connection>(std::move(made));
    open.emplace(peer.get(), peer);
    begin(*peer, Doing::waiting);
    fiber([this, peer](asio::yield_context yield) {
      serve(*peer, yield);
      peer->stream.close();
      open.erase(peer.get());
      if (stopping && open.empty()) grace.cancel();
    });
  }

  void begin(Connection& peer, Doing doing) {
    peer.doing = doing;
    peer.since = ++moments;
  }

  void serve(Connection& peer, asio::yield_context yield) {
    beast::flat_buffer buffer;
    Duration patience = options.read_timeout;
    while (await_first_byte(peer, buffer, patience, yield)) {
      const bool goes_on = answer_one(peer, buffer, yield);
      if (!goes_on || stopping) return;
      patience = options.idle_timeout;
    }
  }

  bool await_first_byte(Connection& peer, beast::flat_buffer& buffer, Duration patience, asio::yield_context& yield) {
    if (buffer.size() > 0) return true;
    error_code failed;
    begin(peer, Doing::waiting);
    peer.stream.expires_after(patience);
    buffer.commit(peer.stream.async_read_some(buffer.prepare(kReadAtOnce), yield[failed]));
    return !failed && !peer.leaves && !stopping;
  }

  // Whether another request may come.
  bool answer_one(Connection& peer, beast::flat_buffer& buffer, asio::yield_context& yield) {
    beast::http::request_parser<beast::http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(options.header_bytes_max));
    parser.body_limit(options.body_bytes_max);
    error_code failed;
    begin(peer, Doing::reading);
    peer.stream.expires_after(options.read_timeout);  // a moment: slow bytes do not put it off
    beast::http::async_read_header(peer.stream, buffer, parser, yield[failed]);
    if (!failed && !parser.is_done() && lower_case(parser.get()[beast::http::field::expect]) == "100-continue") {
      constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(peer.stream, asio::buffer(kGoOn), yield[failed]);
    }
    if (!failed && !parser.is_done()) beast::http::async_read(peer.stream, buffer, parser, yield[failed]);
    if (peer.leaves) return false;
    if (failed) {
      const int status = status_of(failed);
      if (status != 0 && write(peer, {.status = status}, 11, false, false, yield)) drain(peer, yield);
      return false;
    }
    begin(peer, Doing::answering);
    const unsigned version = parser.get().version();
    const bool keep = parser.get().keep_alive();
    const bool head = parser.get().method() == beast::http::verb::head;
    const HttpResponse response = handled(plain(parser.release()), yield);
    if (!write(peer, response, version, keep && !stopping, head, yield)) return false;
    if (keep && !stopping) return true;
    drain(peer, yield);
    return false;
  }

  HttpResponse handled(const HttpRequest& request, asio::yield_context& yield) {
    HttpResponse response;
    asio::async_initiate<asio::yield_context, void()>(
        [&](auto resume) {
          asio::post(context, [&, resume = std::move(resume)]() mutable {
            response = handler(request);
            asio::post(std::move(resume));  // to the strand
          });
        },
        yield);
    if (std::ranges::any_of(response.headers, has_line_end)) return {.status = 500};
    return response;
  }

  bool write(Connection& peer, const HttpResponse& response, unsigned version, bool keep, bool only_head,
             asio::yield_context& yield) {
    const auto dress = [&](auto& out) {
      out.result(static_cast<unsigned>(response.status));
      out.version(version);
      out.set(beast::http::field::date, date_text(runtime.wall_now()));
      out.set(beast::http::field::content_type, response.content_type);
      out.set(beast::http::field::cache_control, "no-store");
      for (const Header& header : response.headers) out.insert(header.name, header.value);
      out.content_length(response.body.size());
      out.keep_alive(keep);
    };
    error_code failed;
    peer.stream.expires_after(options.write_timeout);
    if (only_head) {
      beast::http::response<beast::http::empty_body> out;
      dress(out);
      beast::http::async_write(peer.stream, out, yield[failed]);
    } else {
      beast::http::response<beast::http::string_body> out;
      out.body() = response.body;
      dress(out);
      beast::http::async_write(peer.stream, out, yield[failed]);
    }
    return !failed;
  }

  // To close with bytes unread would be a reset, which takes the reply from the peer.
  void drain(Connection& peer, asio::yield_context& yield) {
    error_code failed;
    peer.stream.socket().shutdown(tcp::socket::shutdown_send, failed);
    std::array<char, kReadAtOnce> dropped;
    begin(peer, Doing::waiting);
    peer.stream.expires_after(kGrace);
    for (std::size_t total = 0; !failed && !stopping && !peer.leaves && total < kDrainedMost;)
      total += peer.stream.async_read_some(asio::buffer(dropped), yield[failed]);
  }

  void end() {
    if (std::exchange(stopping, true)) return;
    error_code failed;
    acceptor.close(failed);
    no_room.cancel();
    for (const auto& [at, peer] : open)
      if (peer->doing != Doing::answering) peer->stream.cancel();
    if (open.empty()) return;
    grace.expires_after(kGrace);
    grace.async_wait([this](const error_code& cancelled) {
      if (cancelled) return;
      for (const auto& [at, peer] : open) peer->stream.cancel();
    });
  }
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::open(Runtime& runtime, HttpServerOptions options, HttpHandler handler) {
  tcp protocol = tcp::v4();
  Result<UniqueFd> socket = listening_socket(options.listen, protocol);
  if (!socket) return std::unexpected(socket.error());
  try {
    auto parts = std::make_unique<Parts>(runtime, std::move(options), std::move(handler));
    parts->acceptor.assign(protocol, socket->get());
    socket->release();
    parts->options.listen.port = parts->acceptor.local_endpoint().port();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
  } catch (const boost::system::system_error& thrown) {
    return fail(Code::unavailable, std::string("cannot create a server: ") + thrown.what());
  }
}

std::uint16_t HttpServer::port() const { return parts_->options.listen.port; }
std::string HttpServer::address() const { return host_and_port(parts_->options.listen); }

void HttpServer::run(std::stop_token stop) {
  Parts& parts = *parts_;
  parts.fiber([&parts](asio::yield_context yield) { parts.accept_all(yield); });
  std::vector<Task> others;
  {
    const std::stop_callback ends(stop, [&parts] { asio::post(parts.strand, [&parts] { parts.end(); }); });
    for (int i = 1; i < parts.options.tasks; ++i)
      others.push_back(parts.runtime.spawn("http", [&parts](std::stop_token) { parts.context.run(); }));
    parts.context.run();
  }
  for (Task& other : others) other.join();
}

}  // namespace fenceline::http
