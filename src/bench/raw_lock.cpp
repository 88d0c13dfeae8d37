#include "bench/raw_lock.hpp"

#include "bench/redis_place.hpp"

namespace fenceline::bench {
namespace {

using redis::Command;
using redis::Script;
using redis::Value;

constexpr int kTtl = 30'000;  // ms

const Script kGive{
    R"lua(if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0)lua"};

class OnRedis final : public RawLock {
 public:
  OnRedis(Runtime& runtime, std::unique_ptr<RedisPlace> place) : runtime_(runtime), place_(std::move(place)) {}

  Result<bool> take(const std::string& name) override {
    token_ = std::to_string(runtime_.random()) + std::to_string(runtime_.random());
    const Result<Value> answer =
        place_->call(Command("SET").key(place_->key(name)).arg(token_).arg("NX").arg("PX").arg(kTtl));
    if (!answer) return std::unexpected(answer.error());
    return !answer->is_nil();
  }
  Result<bool> give(const std::string& name) override {
    const Result<Value> answer = place_->call(Command(kGive).key(place_->key(name)).arg(token_));
    if (!answer) return std::unexpected(answer.error());
    return redis::whole_number(*answer) == 1;
  }

 private:
  Runtime& runtime_;
  const std::unique_ptr<RedisPlace> place_;
  std::string token_;
};

}  // namespace

Result<std::unique_ptr<RawLock>> open_raw_lock(Runtime& runtime, const std::string& url) {
  auto place = RedisPlace::open(runtime, url);
  if (!place) return std::unexpected(place.error());
  return std::make_unique<OnRedis>(runtime, std::move(*place));
}

}  // namespace fenceline::bench
