// Pub/sub: one connection that listens, and those who want to be told. It has a connection and a thread of its own: on
// that of the calls nobody reads while nobody calls, and a thread that always read there would stand between a lone
// caller and its answer, one wake-up more for each call. What it brings only shortens a sleep: a message may be
// missing, late or too often.
#pragma once

#include <deque>
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
#include "runtime/unique_fd.hpp"

namespace fenceline::redis {

struct Heard {
  std::string_view channel;
  // Nothing: the server listens for this channel from now on, or again after a reconnect. What came before may have
  // been missed, so look. A server that does not let us listen has this said every second.
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

  // Never blocks. `on_heard` runs on the listener's thread: it must not block either, nor end its own subscription. The
  // first one starts the thread. Whoever looks after this returned, and then whenever it is told, misses nothing.
  std::unique_ptr<Subscription> subscribe(std::string channel, std::function<void(const Heard&)> on_heard);

 private:
  struct Follower;
  class Handle;
  enum class State {
    wanted,   // SUBSCRIBE has not gone out on the connection at hand
    asked,    // it has, and is not answered
    heard,    // the server listens
    refused,  // it does not let us
  };
  struct Channel {
    std::vector<std::shared_ptr<Follower>> followers;
    State state = State::wanted;
  };

  void follow(const std::stop_token& stop);
  // Until the connection is over, or a stop.
  void listen(Connection& connection, const std::stop_token& stop);
  // What brings the server to listen for what is wanted, and for nothing else.
  void append_changes(std::string& out);
  void take(const Value& value);
  void take_answer(bool is_refused);
  void tell(const std::string& channel, std::optional<std::string_view> message);
  void knock();
  void end(const std::shared_ptr<Follower>& follower);
  void wake() const;

  Runtime& runtime_;
  const Address address_;
  const UniqueFd woken_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Channel> channels_;
  struct Asked {
    bool subscribes;
    std::string channel;
  };
  std::deque<Asked> asked_;  // commands without an answer, in their order
  bool has_changed_ = false;
  bool has_refused_ = false;
  bool started_ = false;
  Task task_;  // last: it uses all of the above
};

}  // namespace fenceline::redis
