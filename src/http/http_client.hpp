// HTTP as a client, on libcurl: one request, one answer, a deadline, and whether what failed may have been done all the
// same.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace fenceline::http {

struct Header {
  std::string name;
  std::string value;

  bool operator==(const Header&) const = default;
};

struct Request {
  std::string method = "GET";
  std::string url;              // http:// or https://
  std::vector<Header> headers;  // secrets stand here, never in the URL
  std::string body;
  Duration timeout = std::chrono::seconds{30};
};

struct Response {
  int status = 0;
  std::vector<Header> headers;  // names in lower case, in their order
  std::string body;

  // The first of that name (in lower case).
  std::optional<std::string> header(std::string_view name) const;
  // The clock of the server when it answered; empty: it did not say.
  std::optional<WallTime> date() const;
};

struct Failure {
  bool sent = false;    // the request, or a part of it, may have reached the server
  std::string message;  // lower case, one line, no secret
};

struct ClientOptions {
  std::string user_agent = "fenceline";
  std::string ca_file;                      // authorities that are trusted; empty: the machine's own
  std::size_t answer_bytes_max = 32 << 20;  // a longer answer is a failure
};

// Safe to call from several threads. Redirections are not followed: the caller's credentials are for one host. What may
// change something goes over a connection of its own: on one that was used before, libcurl sends a request a second
// time if the server hangs up without a word, and the first may have been done.
class Client {
 public:
  explicit Client(ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::expected<Response, Failure> send(const Request& request);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Letters, digits and -._~ stay; all else is %XX: for a part of a path or a value of a query.
std::string escaped(std::string_view text);

// "Mon, 16 Nov 2026 14:37:54 GMT". Empty: it is no such date.
std::optional<WallTime> parse_date(const std::string& text);

}  // namespace fenceline::http
