// The raw side on Redis, by the client that the store uses too: a list of payloads. A claim pops a batch into a hash by
// one script, a second call removes it from there; nobody knows whose it is, nor until when.
#include <cstdint>

#include "bench/raw_queue.hpp"
#include "bench/redis_place.hpp"

namespace fenceline::bench {
namespace {

using redis::Command;
using redis::Script;
using redis::Value;

// What any queue that must do more than one thing at once calls for one job.
const Script kEnqueueOne{R"lua(return redis.call('RPUSH', KEYS[1], ARGV[1]))lua"};

// KEYS: the list, the hash, the last number. Answers the number before the first, and the payloads.
const Script kTakeRowByRow{R"lua(
local taken = redis.call('LPOP', KEYS[1], ARGV[1])
if not taken then return {0, {}} end
local before = redis.call('INCRBY', KEYS[3], #taken) - #taken
for i = 1, #taken do redis.call('HSET', KEYS[2], before + i, taken[i]) end
return {before, taken}
)lua"};

// The same with as few calls as Lua's stack has room for.
const Script kTakeAtOnce{R"lua(
local taken = redis.call('LPOP', KEYS[1], ARGV[1])
if not taken then return {0, {}} end
local before = redis.call('INCRBY', KEYS[3], #taken) - #taken
local values = {}
for i = 1, #taken do
  values[#values + 1] = before + i
  values[#values + 1] = taken[i]
  if #values == 4000 or i == #taken then
    redis.call('HSET', KEYS[2], unpack(values))
    values = {}
  end
end
return {before, taken}
)lua"};

// KEYS: the hash. ARGV: the number before the first, and how many. Answers how many were there.
const Script kFinishRowByRow{R"lua(
local gone = 0
for i = 1, ARGV[2] do gone = gone + redis.call('HDEL', KEYS[1], ARGV[1] + i) end
return gone
)lua"};

class RawRedis final : public RawQueue {
 public:
  RawRedis(std::unique_ptr<RedisPlace> place, RawStyle style)
      : place_(std::move(place)),
        row_by_row_(style == RawStyle::row_by_row),
        list_(place_->key("list")),
        taken_(place_->key("taken")),
        number_(place_->key("number")) {}

  Result<void> enqueue(const std::vector<std::string>& payloads) override {
    if (payloads.size() == 1) return done(Command(kEnqueueOne).key(list_).arg(payloads.front()));
    std::size_t bytes = 0;
    for (const std::string& payload : payloads) bytes += payload.size() + 16;
    Command push("RPUSH");
    push.reserve(bytes).key(list_);
    for (const std::string& payload : payloads) push.arg(payload);
    return done(push);
  }

  Result<std::int64_t> take_and_finish(std::int64_t most) override {
    const Result<Value> answer =
        place_->call(Command(row_by_row_ ? kTakeRowByRow : kTakeAtOnce).key(list_).key(taken_).key(number_).arg(most));
    if (!answer) return std::unexpected(answer.error());
    if (answer->items.size() != 2)
      return fail(Code::unavailable, "the raw side of the bench failed: the server's answer is not understood");
    const std::int64_t before = redis::whole_number(answer->items[0]).value_or(0);
    const auto count = static_cast<std::int64_t>(answer->items[1].items.size());
    if (count == 0) return 0;
    Command at_once("HDEL");
    at_once.key(taken_);
    for (std::int64_t i = 1; i <= count && !row_by_row_; ++i) at_once.arg(before + i);
    const Result<Value> removed =
        place_->call(row_by_row_ ? Command(kFinishRowByRow).key(taken_).arg(before).arg(count) : at_once);
    if (!removed) return std::unexpected(removed.error());
    if (redis::whole_number(*removed) != count)
      return fail(Code::broken, "the raw side of the bench lost what it had taken");
    return count;
  }

 private:
  Result<void> done(const Command& command) {
    const Result<Value> answer = place_->call(command);
    return answer ? Result<void>() : std::unexpected(answer.error());
  }

  const std::unique_ptr<RedisPlace> place_;
  const bool row_by_row_;
  const std::string list_;
  const std::string taken_;
  const std::string number_;
};

}  // namespace

Result<std::unique_ptr<RawQueue>> open_raw_redis(Runtime& runtime, const std::string& url, RawStyle style) {
  auto place = RedisPlace::open(runtime, url);
  if (!place) return std::unexpected(place.error());
  return std::make_unique<RawRedis>(std::move(*place), style);
}

}  // namespace fenceline::bench
