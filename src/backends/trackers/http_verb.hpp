// What the drivers share: the requests of one verb under one deadline, what they cost, and the words of a server made
// into a Trouble.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "http/etag_cache.hpp"
#include "http/http_client.hpp"
#include "runtime/clock.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

// What a driver talks to. Safe to use from several threads.
struct HttpPlace {
  std::string tracker;                // for messages: "github"
  std::string base;                   // "https://api.github.com", without a slash at its end
  std::vector<http::Header> headers;  // of every request: credentials stand here
  http::Client client;
  http::EtagCache cache{};
};

// How one tracker words its limits. Empty: the answer is about something else.
using LimitReader = std::optional<Trouble> (*)(const http::Response& response, const Served& served);

class HttpVerb {
 public:
  // `what` ends messages: "a comment on 17". All must outlive it.
  HttpVerb(HttpPlace& place, const Clock& clock, std::string what, LimitReader limits = nullptr);

  // What is unchanged since it was last asked for is not charged.
  std::expected<http::Response, Trouble> get(const std::string& path);
  // `body` is JSON, or empty.
  std::expected<http::Response, Trouble> change(const std::string& method, const std::string& path,
                                                const std::string& body);

  // A body that can be read as JSON; a read that cannot be is unavailable, a change in_doubt.
  std::expected<nlohmann::json, Trouble> json(const http::Response& response) const;

  const Served& served() const { return served_; }
  template <class T>
  Answered<T> answer(T value) const {
    return {std::move(value), served_};
  }
  std::unexpected<Trouble> fail(TroubleKind kind, const std::string& why) const;
  // An answer of a status that a verb did not expect.
  std::unexpected<Trouble> fail(const http::Response& response) const;

 private:
  std::optional<Duration> time_left() const;
  void note(const http::Response& response, bool charged);

  HttpPlace& place_;
  const Clock& clock_;
  const std::string what_;
  const LimitReader limits_;
  const Instant deadline_;
  Served served_;
  bool changes_ = false;
};

// "2026-11-16T14:37:54Z", fractions allowed. The epoch if it is no such time: what a tracker says is data.
WallTime time_of(const std::string& text);

// With line ends as "\n", at most kTextBytesMax, and no part of a character at its end.
std::string text_of(std::string text);

}  // namespace fenceline::tracker
