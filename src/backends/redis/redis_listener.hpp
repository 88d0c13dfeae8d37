// Pub/sub: one connection that listens, and those who want to be told. It has a connection and a thread of its own: on that of the calls nobody reads
// while nobody calls, and a thread that always read there would stand between a lone caller and its answer, one wake-up more for each call.
// What it brings only shortens a sleep: a message may be missing, late or too often.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/redis_connection.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::redis {

struct Heard {
  std::string_view channel;
  // Nothing: the server listens for this channel from now on, or again after a reconnect. What came before may have been missed, so look.
  std::optional<std::string_view> message;
};

// Ends when it goes away: then nobody is called any more, and a call under way on another thread is waited for.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

class Listener {
 public:
  Listener(Runtime& runtime, Address address);
  ~Listener();

  // Never blocks. `on_heard` runs on the listener's thread: it must not block either, nor end its own subscription. The first one starts the thread.
  std::unique_ptr<Subscription> subscribe(std::string channel, std::function<void(const Heard&)> on_heard);

 private:
  struct Follower;
  class Handle;
  struct Channel {
    std::vector<std::shared_ptr<Follower>> followers;
    bool is_asked = false;    // SUBSCRIBE went out on the connection at hand
    bool is_refused = false;  // the server does not let us: followers are told every second instead
  };

  void follow(const std::stop_token& stop);
  void listen(Connection& connection, const std::stop_token& stop);
  // Brings what the server listens for to what is wanted.
  std::string changes();
  void take(const Value& value);
  void tell(const std::string& channel, std::optional<std::string_view> message);
  void tell_the_refused();
  void wake();

  Runtime& runtime_;
  const Address address_;
  UniqueFd woken_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Channel> channels_;
  std::vector<std::string> asked_;  // channels of SUBSCRIBEs without an answer yet, in order
  bool started_ = false;
  Task task_;  // last: it uses all of the above
};

}  // namespace fenceline::redis
