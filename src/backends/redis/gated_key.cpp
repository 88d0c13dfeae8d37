#include "fenceline/gated_key.hpp"

#include <utility>

#include "backends/redis/redis_client.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/wire.hpp"
#include "model/lock.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline {
namespace {

Result<void> check(const std::string& key, Fence fence) {
  if (key.empty() || key.size() > kGatedKeyBytesMax)
    return fail(Code::invalid, "a gated key has 1 to " + std::to_string(kGatedKeyBytesMax) + " bytes");
  if (fence < 1 || fence > kFenceMax)
    return fail(Code::invalid,
                "fence " + std::to_string(fence) + " is not a fence; use the grant's fence, 1 to 2^53-1");
  return {};
}

std::string memory_of(const std::string& key) { return key + ":fence"; }

GateAnswer answer_in(const redis::Value& value) {
  const std::vector<redis::Value>& parts = redis::list_in(value, 3);
  const std::string& verdict = redis::text_in(parts[0]);
  GateAnswer answer{.remembered = redis::number_in(parts[1])};
  if (verdict == "accepted") answer.verdict = GateVerdict::accepted;
  if (verdict == "behind") answer.verdict = GateVerdict::behind;
  if (const Fence newest = redis::number_in(parts[2]); newest > 0) answer.newest = newest;
  return answer;
}

}  // namespace

struct GatedKeys::Parts {
  Parts(const redis::Address& address, Duration its_timeout)
      : timeout(its_timeout), client(runtime, {.address = address}) {}

  Result<GateAnswer> write(const std::string& key, Fence fence, const std::optional<GatedBy>& by, std::string_view verb,
                           std::string_view value, std::int64_t expires) {
    static const redis::Script& gated_key = redis::script_of("gated_key");
    std::string lock = memory_of(key);
    if (by) {
      if (auto ok = check_name("namespace", by->ns); !ok) return std::unexpected(ok.error());
      if (by->lock.empty()) return fail(Code::invalid, "name the lock that gates the key");
      lock = client.address().prefix + ":{" + by->ns + "}:lock:" + by->lock;
    }
    redis::Command command(gated_key);
    command.key(key).key(memory_of(key)).key(lock).arg(fence).arg(verb).arg(value).arg(expires);
    const Result<redis::Value> answer = client.call(command, redis::CallKind::change, timeout);
    if (!answer) return std::unexpected(answer.error());
    return redis::decoded(client.address().shown, [&] { return answer_in(*answer); });
  }

  ThreadRuntime runtime;
  Duration timeout;
  redis::Client client;
};

GatedKeys::GatedKeys(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GatedKeys::~GatedKeys() = default;

Result<std::unique_ptr<GatedKeys>> GatedKeys::connect(const std::string& url, Duration timeout) {
  const Result<redis::Address> address = redis::parse_address(url);
  if (!address) return std::unexpected(address.error());
  return std::unique_ptr<GatedKeys>(new GatedKeys(std::make_unique<Parts>(*address, timeout)));
}

Result<GateAnswer> GatedKeys::set(const GatedSet& request) {
  if (auto ok = check(request.key, request.fence); !ok) return std::unexpected(ok.error());
  if (request.value.size() > kGatedContentBytesMax) return fail(Code::invalid, "a gated value has at most 64 MiB");
  std::int64_t expires = 0;
  if (request.expires) {
    expires = std::chrono::duration_cast<std::chrono::milliseconds>(*request.expires).count();
    if (expires < 1)
      return fail(Code::invalid, "a value's expiry must be at least a millisecond; leave it out to keep the value");
  }
  return parts_->write(request.key, request.fence, request.by, "set", request.value, expires);
}

Result<GateAnswer> GatedKeys::remove(const GatedRemoval& request) {
  if (auto ok = check(request.key, request.fence); !ok) return std::unexpected(ok.error());
  return parts_->write(request.key, request.fence, request.by, "remove", "", 0);
}

Result<std::optional<Fence>> GatedKeys::remembered(const std::string& key) {
  if (auto ok = check(key, 1); !ok) return std::unexpected(ok.error());
  const Result<redis::Value> answer =
      parts_->client.call(redis::Command("GET").key(memory_of(key)), redis::CallKind::look, parts_->timeout);
  if (!answer) return std::unexpected(answer.error());
  if (answer->is_nil()) return std::nullopt;
  const std::optional<std::int64_t> fence = redis::whole_number(*answer);
  if (!fence || *fence < 1 || *fence > kFenceMax)
    return fail(Code::invalid, one_line(memory_of(key)) + " is not a gate's record");
  return fence;
}

}  // namespace fenceline
