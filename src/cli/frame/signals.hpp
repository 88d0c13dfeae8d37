// Ctrl-C and SIGTERM as a stop token: the first asks, a second one ends the process at once with 128+n. A second one
// counts only half a second after the first: timeout(1) signals the process and then its group, so the same signal
// comes twice within microseconds, and nobody meant "now".
#pragma once

#include <stop_token>

#include "runtime/runtime.hpp"

namespace fenceline::cli {

// The same signal again within this time is the same wish.
inline constexpr Duration kSameWish = std::chrono::milliseconds{500};

// One in a process, made by main(). A closed pipe becomes an error of write(), not a signal; programs that we
// start see every signal as they would from a shell.
class Signals {
 public:
  explicit Signals(Runtime& runtime);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  std::stop_token stop() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  Task listener_;
};

// The signal that asked for the stop, for exit codes of 128+n; 0: none did.
int stop_signal();

// What a second signal, which ends the process at once, writes to stderr first; null: nothing. A literal.
void write_at_forced_end(const char* bytes);

// Whether the parent process had it ignored, as nohup does with SIGHUP; before the first Signals: false.
bool ignored_from_the_start(int signal);

// What an interrupted command returns.
inline int interrupted_exit() { return 128 + stop_signal(); }

// Whether a stop was asked for; a signal counts from the moment it comes, before its token knows.
inline bool was_interrupted(const std::stop_token& stop) { return stop.stop_requested() || stop_signal() != 0; }

// Waits until `fd` can be read; false if a signal asked to stop first.
bool wait_readable(int fd);

// Calls `handler` for a signal; interrupted system calls are restarted.
void handle_signal(int signal, void (*handler)(int));

}  // namespace fenceline::cli
