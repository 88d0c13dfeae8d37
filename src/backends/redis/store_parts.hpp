// What a RedisStore is made of, and how its verbs call the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/redis/redis_client.hpp"
#include "backends/redis/redis_store.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/wire.hpp"

namespace fenceline {

struct RedisStore::Parts {
  Parts(Runtime& its_runtime, const redis::Address& address, const RedisOptions& options);

  int pid;
  Runtime& runtime;
  std::string prefix;  // of every key, with its colon: "fl:"
  std::function<std::pair<std::int64_t, std::int64_t>()> test_clock;
  redis::Client client;
  StoreProfile profile;

  const std::string& url() const { return client.address().shown; }
  std::string prefix_of(const std::string& ns) const { return prefix + "{" + ns + "}:"; }

  // A call of a script, with what every script begins with: where the namespace's keys begin, where the store's do, and the clock of a test. The verb's own
  // arguments follow, so that its first is ARGV[4].
  redis::Command call_of(const redis::Script& script, const std::string& ns) const;
  // Its answer. What refuse() of lua/00_core.lua answers is an Error.
  Result<redis::Value> run(const redis::Command& command, redis::CallKind kind, Duration timeout);

  // The part of tidy that is about locks (redis_locks.cpp).
  Result<TidyReply> tidy_locks(const std::string& ns, int limit, Duration timeout);
};

}  // namespace fenceline
