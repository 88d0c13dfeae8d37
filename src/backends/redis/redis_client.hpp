// What a store on a Redis server uses: calls by any number of threads over one connection, and pub/sub over a second
// one.
//
// Callers share the connection by pipelining. A caller writes at once if nobody else is writing; else who is writing
// takes its bytes along. Of those who wait for an answer one reads for all, and passes that on when it has its own:
// there is no thread between a lone caller and the server, and a call is one write and one read. Answers come in the
// order of the commands.
//
// A caller whose time is over leaves, and its answer is dropped when it comes. If the oldest command has waited for an
// answer as long as its caller did, and at least `silence_most`, the server is taken for gone and the connection is
// opened anew.
//
// No lock is held while the server is spoken to.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/redis/command.hpp"
#include "backends/redis/redis_address.hpp"
#include "backends/redis/redis_connection.hpp"
#include "backends/redis/redis_errors.hpp"
#include "backends/redis/redis_listener.hpp"
#include "backends/redis/resp.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::redis {

struct ClientOptions {
  Address address;
  Duration silence_most = std::chrono::seconds{2};
  // Looks at the server on each new connection, before any call: is it a replica, does it evict? What it refuses, calls
  // answer; of a server that would do before, as unavailable. One that is unavailable is tried again as if it had not
  // been reached.
  std::function<Result<void>(Connection& connection, Instant deadline)> on_connect = {};
};

// Safe to use from several threads. All calls have returned, and all subscriptions are gone, before it goes away.
class Client {
 public:
  Client(Runtime& runtime, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Address& address() const;
  // Until the server was reached for the first time, whoever waits for it hears this. Said before the first call.
  void heed(std::stop_token stop);

  // One command, or one script by its function or SHA-1 (see redis_link.hpp); one that the server does not know is sent
  // as its text. What was not sent is tried again until the deadline, and so is a look that lost its connection.
  // Errors: unavailable, nothing of it was done (a look: no answer came); in_doubt, it was sent and no answer came;
  // what the server refuses, as error_of.
  Result<Value> call(const Command& command, CallKind kind, Duration timeout);

  // Several in one write, run in this order, with others' perhaps between; each has its own answer or error. If the
  // server forgot its scripts just then (SCRIPT FLUSH), those that it did not know are run again, in their order, after
  // the others.
  std::vector<Result<Value>> call_many(std::span<const Command> commands, CallKind kind, Duration timeout);

  // Written at once and not awaited; its answer is dropped, so it may never happen. It comes before every call that
  // begins after this returns. Never blocks: nothing is sent if there is no connection. Errors: unavailable.
  Result<void> send(Command command);

  // See Listener::subscribe.
  std::unique_ptr<Subscription> subscribe(std::string channel, std::function<void(const Heard&)> on_heard);

  // Connections made so far, that of the listener aside: after another one, the server may be another, or have lost
  // what it had not saved.
  std::uint64_t connections_made() const;

 private:
  class Calls;
  std::unique_ptr<Calls> calls_;
  Listener listener_;
};

}  // namespace fenceline::redis
