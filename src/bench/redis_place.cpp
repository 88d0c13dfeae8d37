#include "bench/redis_place.hpp"

#include <algorithm>

namespace fenceline::bench {
namespace {

constexpr Duration kCallMost = std::chrono::minutes{1};
constexpr std::string_view kParameter = "prefix=";

}  // namespace

std::string with_prefix(std::string_view url, std::string_view prefix) {
  const std::size_t query = std::min(url.find('?'), url.size());
  std::string changed(url.substr(0, query));
  char before = '?';
  for (std::string_view rest = url.substr(std::min(query + 1, url.size())); !rest.empty();) {
    const std::string_view parameter = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(parameter.size() + 1, rest.size()));
    if (parameter.empty() || parameter.starts_with(kParameter)) continue;
    changed += before;
    changed += parameter;
    before = '&';
  }
  return changed + before + std::string(kParameter) + std::string(prefix);
}

Result<std::unique_ptr<RedisPlace>> RedisPlace::open(Runtime& runtime, const std::string& url) {
  Result<redis::Address> address = redis::parse_address(url);
  if (!address) return std::unexpected(address.error());
  std::unique_ptr<RedisPlace> place(new RedisPlace(runtime, std::move(*address)));
  if (auto reached = place->call(redis::Command("PING")); !reached) return std::unexpected(reached.error());
  return place;
}

Result<redis::Value> RedisPlace::call(const redis::Command& command) {
  return client_.call(command, redis::CallKind::change, kCallMost);
}

}  // namespace fenceline::bench
