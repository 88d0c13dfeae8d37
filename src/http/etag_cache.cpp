#include "http/etag_cache.hpp"

#include <utility>

namespace fenceline::http {

std::optional<EtagCache::Kept> EtagCache::kept(const std::string& url) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(url);
  if (at == entries_.end()) return std::nullopt;
  uses_.splice(uses_.begin(), uses_, at->second.use);
  return at->second;
}

void EtagCache::forget_locked(const std::string& url) {
  const auto at = entries_.find(url);
  if (at == entries_.end()) return;
  bytes_ -= at->second.body.size();
  uses_.erase(at->second.use);
  entries_.erase(at);
}

void EtagCache::keep(const std::string& url, const Response& response) {
  const std::optional<std::string> etag = response.header("etag");
  const std::lock_guard lock(mutex_);
  forget_locked(url);
  if (!etag || response.body.size() > bytes_max_) return;
  uses_.push_front(url);
  bytes_ += response.body.size();
  entries_.emplace(url, Kept{*etag, response.body, response.header("link"), uses_.begin()});
  while (bytes_ > bytes_max_) forget_locked(std::string(uses_.back()));
}

std::expected<Fetched, Failure> EtagCache::fetch(Client& client, Request request) {
  const std::optional<Kept> before = kept(request.url);
  if (before) request.headers.push_back({"If-None-Match", before->etag});
  std::expected<Response, Failure> response = client.send(request);
  if (!response) return std::unexpected(response.error());
  if (before && response->status == 304) {
    response->status = 200;
    response->body = before->body;
    if (before->link && !response->header("link")) response->headers.push_back({"link", *before->link});
    return Fetched{std::move(*response), true};
  }
  if (response->status == 200) keep(request.url, *response);
  return Fetched{std::move(*response), false};
}

}  // namespace fenceline::http
