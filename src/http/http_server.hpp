// A small HTTP/1.1 server of our own: metrics, health, webhooks. Plain text on a socket; what must be secret or reached
// from elsewhere stands behind a proxy with TLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "http/http_client.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::http {

struct HttpRequest {
  std::string method;
  std::string target;           // as it was sent: path and query
  std::vector<Header> headers;  // names in lower case, in their order
  std::string body;             // its raw bytes

  // The first of that name (in lower case).
  std::optional<std::string> header(std::string_view name) const;
  // The target without its query.
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

struct HttpResponse {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<Header> headers = {};  // more of them; none with a line end
};

// Called by several tasks at once. While it runs it holds one of HttpServerOptions::tasks; it must not throw.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Where to listen. "127.0.0.1:9464", "[::1]:9464", "localhost:9464"; ":9464" is every address of this machine; port 0
// picks a free one.
struct ListenAddress {
  std::string host;  // a number; empty: every address
  std::uint16_t port = 0;
  bool loopback = false;  // reached from this machine alone

  bool operator==(const ListenAddress&) const = default;
};
// Errors: invalid.
Result<ListenAddress> parse_listen_address(std::string_view text);

struct HttpServerOptions {
  ListenAddress listen{"127.0.0.1", 0, true};
  int tasks = 2;                            // that answer side by side
  std::size_t header_bytes_max = 16 << 10;  // of a request; more: 431
  std::size_t body_bytes_max = 1 << 20;     // more: 413
  std::size_t connections_max = 64;  // one more takes the place of the one that has waited longest for a request, or
                                     // else has sent one for longest; 503 if all are answered
  Duration read_timeout = std::chrono::seconds{10};   // for a whole request, from its first byte, however slowly it
                                                      // comes; on a new connection, for the first byte
  Duration idle_timeout = std::chrono::seconds{60};   // between two requests
  Duration write_timeout = std::chrono::seconds{10};  // for an answer
};

class HttpServer {
 public:
  // Listens from now on; requests are answered once run() is called. `runtime` must outlive it. Errors: conflict
  // (somebody listens there), denied, invalid (no address of this machine), unavailable.
  static Result<std::unique_ptr<HttpServer>> open(Runtime& runtime, HttpServerOptions options, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  // "127.0.0.1:41873", "[::1]:9464", ":9464".
  std::string address() const;

  // Serves until `stop`, on this task and HttpServerOptions::tasks - 1 of its own; once. Then nobody is let in any
  // more, whoever waits is hung up on, and an answer under way has a second to go out. A handler is waited for.
  void run(std::stop_token stop);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline::http
