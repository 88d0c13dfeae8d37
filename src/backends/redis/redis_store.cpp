#include "backends/redis/redis_store.hpp"

#include <unistd.h>

#include <array>

#include "backends/redis/server_facts.hpp"
#include "backends/redis/store_parts.hpp"

namespace fenceline {
namespace {

using namespace redis;

// As lua/00_core.lua spells them.
Code code_named(std::string_view name) {
  constexpr std::array<Code, 8> kSaidByScripts{Code::held,    Code::lost, Code::not_found, Code::conflict,
                                               Code::refused, Code::full, Code::invalid,   Code::broken};
  for (const Code code : kSaidByScripts) {
    if (to_string(code) == name) return code;
  }
  return Code::broken;
}

// Keys that another version of this program laid out are refused: its scripts would not find the jobs, or count them
// twice.
Result<void> check_layout(Connection& connection, Instant deadline, const Address& address) {
  const std::string key = address.prefix + ":layout";
  const Result<Value> there = connection.call(Command("GET").key(key), deadline);
  if (!there) return std::unexpected(there.error());
  if (there->is_error()) return std::unexpected(error_of(*there, address.shown));
  if (there->is_text() && there->text != kLayout)
    return fail(Code::refused, address.shown + " has keys of layout '" + one_line(there->text).substr(0, 40) + "' (" +
                                   key + "), and this program knows layout " + std::string(kLayout) +
                                   "; use the program that made them, or another prefix in the URL");
  // A server that is full says no to this; it will be said the next time.
  if (there->is_nil()) static_cast<void>(connection.call(Command("SET").key(key).arg(kLayout).arg("NX"), deadline));
  return {};
}

// On each new connection: after a failover another server may stand at the address.
Result<void> look_at(Connection& connection, Instant deadline, const Address& address, bool accept_eviction) {
  const Result<Value> info = connection.call(Command("INFO"), deadline);
  if (!info) return std::unexpected(info.error());
  if (info->is_error()) return std::unexpected(info_failed(*info, address.user, address.shown));
  if (const Result<void> fits = check_server(ServerFacts(info->text), accept_eviction, address.shown); !fits)
    return fits;
  return check_layout(connection, deadline, address);
}

bool is_refusal(const Value& value) {
  return value.is_list() && value.items.size() == 3 && value.items[0].is_text() && value.items[0].text == "!";
}

}  // namespace

RedisStore::Parts::Parts(Runtime& its_runtime, const Address& address, const RedisOptions& options)
    : pid(::getpid()),
      runtime(its_runtime),
      prefix(address.prefix + ":"),
      test_clock(options.test_clock),
      walked_at_once(options.walked_at_once),
      client(its_runtime, ClientOptions{.address = address,
                                        .on_connect = [address, accept = options.accept_eviction](
                                                          Connection& connection, Instant deadline) {
                                          return look_at(connection, deadline, address, accept);
                                        }}) {}

Command RedisStore::Parts::call_of(const Script& script, const std::string& ns) const {
  Command command(script);
  command.arg(prefix_of(ns)).arg(prefix);
  if (!test_clock) return std::move(command.arg(""));
  const auto [lease, wall] = test_clock();
  return std::move(command.arg(std::to_string(lease) + " " + std::to_string(wall)));
}

Result<Value> RedisStore::Parts::run(const Command& command, CallKind kind, Duration timeout) {
  Result<Value> answer = client.call(command, kind, timeout);
  if (!answer || !is_refusal(*answer)) return answer;
  return fail(code_named(answer->items[1].text), answer->items[2].text);
}

Result<std::unique_ptr<RedisStore>> RedisStore::open(Runtime& runtime, Log, RedisOptions options) {
  Result<Address> address = parse_address(options.url);
  if (!address) return std::unexpected(address.error());
  auto parts = std::make_unique<Parts>(runtime, *address, options);
  parts->client.heed(options.stop);
  const Result<Value> info = parts->client.call(Command("INFO"), CallKind::look, options.open_timeout);
  if (!info) return std::unexpected(info.error());
  // Not every user may ask for settings; then the class is the lower one.
  const Result<Value> config = parts->client.call(settings_command(), CallKind::look, options.open_timeout);
  if (!config && config.error().code != Code::denied) return std::unexpected(config.error());
  parts->profile = profile_of(ServerFacts(info->text), config ? settings_in(*config) : ServerSettings{}, parts->url());
  return std::unique_ptr<RedisStore>(new RedisStore(std::move(parts)));
}

RedisStore::RedisStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

RedisStore::~RedisStore() {
  // After a fork nothing of this is the child's to close: its connections are the parent's.
  if (::getpid() != parts_->pid) static_cast<void>(parts_.release());
}

StoreProfile RedisStore::profile() const { return parts_->profile; }

}  // namespace fenceline
