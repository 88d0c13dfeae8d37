// What GitHub tells by itself, as an HttpHandler: which issue changed. Nothing of what is told is believed; it is a
// hint to look.
//
// The signature is over the raw body, and is looked at before anything else is (X9). No time is signed, so an old
// delivery can be sent again by whoever has heard it: it is known by its id and by its signature, and in the worst case
// costs a look.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "http/http_server.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

struct GithubWebhookOptions {
  std::string secret;                       // never empty
  std::string repository;                   // "owner/name"; those of others are passed over
  std::vector<std::string> workers;         // ids of accounts whose own doings are no news
  std::function<void(const ItemId&)> hint;  // called by several threads
  std::size_t remembered_most = 4096;       // deliveries
};

// Safe to call from several threads.
class GithubWebhook {
 public:
  GithubWebhook(Log log, GithubWebhookOptions options);

  // 202: it was a hint; 200: it was none (a ping, one that came before, of something else); 401: the signature is
  // missing or wrong; 400, 405, 415: no delivery.
  http::HttpResponse answer(const http::HttpRequest& request);

 private:
  // False: it came before.
  bool is_new(const std::string& delivery, const std::string& signature);
  void refused(const char* why);

  const Log log_;
  const GithubWebhookOptions options_;
  std::mutex mutex_;
  bool told_ = false;  // of one that was refused, since the last good one
  std::set<std::string> known_;
  std::deque<std::string> order_;
};

}  // namespace fenceline::tracker
