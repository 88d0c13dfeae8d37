// Answers that are kept with their ETag, so that what is unchanged costs a 304 and no body.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "http/http_client.hpp"

namespace fenceline::http {

struct Fetched {
  Response
      response;  // of an unchanged one: body and `link` as they were kept, the other headers of this answer; status 200
  bool unchanged = false;
};

// For one account of one server. Safe to use from several threads.
class EtagCache {
 public:
  explicit EtagCache(std::size_t bytes_max = 64 << 20) : bytes_max_(bytes_max) {}

  // A GET that asks whether what is kept of this URL has changed.
  std::expected<Fetched, Failure> fetch(Client& client, Request request);

 private:
  struct Kept {
    std::string etag;
    std::string body;
    std::optional<std::string> link;
    std::list<std::string>::iterator use;
  };

  std::optional<Kept> kept(const std::string& url);
  void keep(const std::string& url, const Response& response);
  void forget_locked(const std::string& url);

  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::map<std::string, Kept> entries_;
  std::list<std::string> uses_;  // URLs, the last used one first
};

}  // namespace fenceline::http
