// For the tests of this folder: a store with keys of this process's own on the server that script/with_redis has
// started, with a clock that a test moves by hand. It is emptied for each store that is opened, and at the end.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backends/redis/redis_store.hpp"
#include "backends/redis/testing.hpp"
#include "support/manual_clock.hpp"

namespace fenceline::test {

// The server's URL with a prefix of its own; where a user is limited to one, behind that.
inline std::string redis_url_with_prefix(const std::string& prefix) {
  std::string url = redis::test::from_environment("FENCELINE_TEST_REDIS");
  const std::size_t given = url.find("prefix=");
  if (given == std::string::npos) return url + (url.find('?') == std::string::npos ? "?prefix=" : "&prefix=") + prefix;
  return url.insert(std::min(url.size(), url.find('&', given)), ":" + prefix);
}

// Keys that go away with this object.
class RedisKeys {
 public:
  explicit RedisKeys(const std::string& what)
      : url_(redis_url_with_prefix("test_" + std::to_string(::getpid()) + "_" + what)),
        prefix_(must(redis::parse_address(url_)).prefix) {
    empty();
  }
  ~RedisKeys() { empty(); }
  RedisKeys(const RedisKeys&) = delete;
  RedisKeys& operator=(const RedisKeys&) = delete;

  const std::string& url() const { return url_; }
  const std::string& prefix() const { return prefix_; }
  // As if nobody had ever used it.
  void empty() {
    redis::test::Admin admin(runtime_);
    const redis::Value cleared =
        admin(redis::Command("EVAL")
                  .arg("for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end return 1")
                  .arg(0)
                  .arg(prefix_ + ":*"));
    if (cleared.is_error()) throw std::runtime_error("the keys of a test could not be removed: " + cleared.text);
  }
  RedisOptions options(const Clock& clock) const {
    RedisOptions out;
    out.url = url();
    out.test_clock = [&clock] {
      return std::pair(clock.now().time_since_epoch().count(), clock.wall_now().time_since_epoch().count());
    };
    return out;
  }
  std::unique_ptr<RedisStore> open(Runtime& runtime, const Clock& clock) const {
    return must(RedisStore::open(runtime, Log(null_log_sink()), options(clock)));
  }

 private:
  ThreadRuntime runtime_;
  std::string url_;
  std::string prefix_;
};

}  // namespace fenceline::test
