// A part of a Redis server for one side of a bench: the client that the store uses too, and keys that all begin alike.
#pragma once

#include <memory>
#include <string>

#include "backends/redis/redis_client.hpp"
#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::bench {

// The same server, with another prefix: of letters, digits, '_', '-', '.' and ':'.
std::string with_prefix(std::string_view url, std::string_view prefix);

class RedisPlace {
 public:
  // The runtime must outlive it. Errors: invalid (the URL), unavailable and what the server says.
  static Result<std::unique_ptr<RedisPlace>> open(Runtime& runtime, const std::string& url);

  // Waits as long as a bench can.
  Result<redis::Value> call(const redis::Command& command);
  // All keys of raw sides lie in one slot.
  std::string key(std::string_view name) const { return address().prefix + ":{raw}:" + std::string(name); }
  const redis::Address& address() const { return client_.address(); }

 private:
  RedisPlace(Runtime& runtime, redis::Address address) : client_(runtime, {.address = std::move(address)}) {}

  redis::Client client_;
};

}  // namespace fenceline::bench
