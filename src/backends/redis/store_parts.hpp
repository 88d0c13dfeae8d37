// What a RedisStore is made of, and how its verbs call the server.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/redis/layout.hpp"
#include "backends/redis/redis_client.hpp"
#include "backends/redis/redis_store.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/wire.hpp"

namespace fenceline {
namespace redis {

// Grants of locks that somebody waited for, or that are not plain: their release is a script, and need not be tried as
// a plain one first.
class ScriptedReleases {
 public:
  void add(const std::string& ns, const LockHolding& lock);
  // Whether it was there; it is not any more.
  bool take(const std::string& ns, const LockHolding& lock);

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, LockHolding>> grants_;
};

}  // namespace redis

struct RedisStore::Parts {
  Parts(Runtime& its_runtime, const redis::Address& address, const RedisOptions& options);

  int pid;
  Runtime& runtime;
  std::string prefix;  // of every key, with its colon: "fl:"
  std::function<std::pair<std::int64_t, std::int64_t>()> test_clock;
  int walked_at_once;
  redis::Client client;
  StoreProfile profile;
  redis::ScriptedReleases scripted;

  const std::string& url() const { return client.address().shown; }
  std::string prefix_of(const std::string& ns) const { return prefix + "{" + ns + "}:"; }
  // The other way round.
  std::string namespace_in(std::string_view space) const;

  // A call of a script, with what every script begins with: where the namespace's keys begin, where the store's do, and
  // the clock of a test. The verb's own arguments follow, so that its first is ARGV[4].
  redis::Command call_of(const redis::Script& script, const std::string& ns) const;
  // Its answer. What refuse() of lua/00_core.lua answers is an Error.
  Result<redis::Value> run(const redis::Command& command, redis::CallKind kind, Duration timeout);

  // Of those jobs of a claim that came without it, in answers of some MiB (redis_jobs.cpp). Errors: in_doubt.
  Result<void> read_bodies(const std::string& ns, std::vector<ClaimedJob>& jobs, std::span<const std::size_t> which,
                           Instant deadline);
  // The part of tidy that is about locks (redis_locks.cpp).
  Result<TidyReply> tidy_locks(const std::string& ns, int limit, Duration timeout);
  // And about schedules (redis_schedules.cpp).
  Result<TidyReply> tidy_ticks(const std::string& ns, int limit, Duration timeout);
  // For raise_floor (redis_queues.cpp).
  Result<Fence> granted_up_to(Fence wanted, Duration timeout);
};

}  // namespace fenceline
