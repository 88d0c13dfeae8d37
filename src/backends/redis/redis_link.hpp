// One connection that any number of callers share: their commands go out in one stream, and answers come back in the
// same order.
//
// There are two roles, and each has at most one caller at a time. Who writes takes along what others left in `out_`
// meanwhile. Who reads does so for all; when it has its own answers it wakes the next one to go on. A caller without a
// role sleeps on an event. So a lone caller has both roles: one write, one read.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/redis/command.hpp"
#include "backends/redis/redis_connection.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::redis {

struct Outcome {
  enum class Fate {
    waiting,
    answered,   // see `value`, which may be an error of the server's
    not_sent,   // not wholly, and never will be: it did not happen
    no_answer,  // sent: it may have happened
  };
  Fate fate = Fate::waiting;
  Value value;
};

class Link {
 public:
  // If the oldest command has waited for an answer as long as its caller did, and at least `silence_most`, the server
  // is taken for gone.
  Link(Runtime& runtime, std::unique_ptr<Connection> connection, Duration silence_most);

  // Blocks until each command has its outcome, at most until the deadline. `now` is when the call began. `outcomes` are
  // as many as commands.
  void run(std::span<const Command> commands, std::span<Outcome> outcomes, Instant now, Instant deadline);
  // Written at once, not awaited. False: the connection is over, nothing was sent.
  bool send(Command command, Instant now);

  // The server has lost its scripts: they are loaded again with their next use. Of functions this is seen as answers
  // come.
  void forget_scripts();
  // Nobody shall use it any more: what is under way has no answer.
  void end();
  bool is_over() const { return is_over_; }

 private:
  struct Caller {
    std::span<Outcome> outcomes;
    std::size_t left;
    Event* event = nullptr;  // on which it sleeps, or slept
  };
  struct Entry {
    Caller* caller;  // none: the answer is dropped
    std::size_t index;
    std::size_t bytes;
    std::uint64_t end;  // in the stream of all that goes out
    Instant give_up;    // unanswered by then, the server is taken for gone
    std::unique_ptr<Command>
        kept;  // of one that nobody awaits: to be sent again if the server does not know its script
    const Library* called = nullptr;  // a function of it
    bool is_load = false;             // of the library
  };
  using Lock = std::unique_lock<std::mutex>;
  using Wakes = std::vector<Event*>;  // to be notified without the lock

  // All but the first three under the lock, which is let go while the server is spoken to.
  static void notify(const Wakes& wakes);
  bool wait_for_room(Duration at_most) const;
  Duration left_until(Instant deadline) const { return deadline - runtime_.now(); }

  void enqueue(const Command& command, Caller* caller, std::size_t index, Instant give_up,
               std::unique_ptr<Command> kept = nullptr);
  void look_if_idle(Lock& lock, Instant now);
  void write_out(Lock& lock);
  void read_for_all(Lock& lock, Caller& me, Instant deadline);
  void wait_for_others(Lock& lock, Caller& me, Instant deadline);
  void take_answers(std::vector<Value>& values, const Caller* me, Wakes& wakes);
  void heed_functions(const Entry& entry, const Value& value);
  void wake_next_reader(Wakes& wakes);
  void give_up_waiting(Caller& me);
  void break_up(Wakes& wakes);

  Runtime& runtime_;
  const std::unique_ptr<Connection> connection_;
  const Duration silence_most_;
  std::atomic<bool> is_over_ = false;
  std::vector<Value> values_;  // of who reads
  std::string going_;          // of who writes: taken from out_

  std::mutex mutex_;  // guards what follows
  bool is_writing_ = false;
  bool is_reading_ = false;
  bool is_stuck_ = false;            // the socket takes no more for now, and going_ is not all out
  std::string out_;                  // commands that nobody has begun to write
  std::deque<Entry> unsent_;         // theirs
  std::deque<Entry> sent_;           // begun to be written, without an answer
  std::uint64_t taken_ = 0;          // bytes taken from out_ so far
  std::uint64_t written_ = 0;        // of those, known to be out
  std::vector<bool> knows_;          // scripts, by their number
  const Library* missed_ = nullptr;  // a library that the server does not have: goes out before the next command
  int loads_ = 0;                    // of libraries, without an answer
  bool has_functions_ = true;        // until the server has said no: then scripts do
  std::vector<std::unique_ptr<Event>> events_;  // all that were made
  std::vector<Event*> spare_;
  Instant last_used_{};
};

}  // namespace fenceline::redis
