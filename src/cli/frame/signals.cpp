// A handler may do next to nothing, so it writes one byte into a pipe and a task of ours does the asking. The
// pipe's other copy stays readable for ever once a signal came: that is what wait_readable() looks at.
#include "cli/frame/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/check.hpp"

namespace fenceline::cli {
namespace {

std::array<int, 2> wake_pipe{-1, -1};  // read by the task
std::array<int, 2> gone_pipe{-1, -1};  // closed for writing at the first signal, so that every poll sees it
std::atomic<int> first_signal = 0;
std::atomic<bool> second_counts = false;
std::atomic<const char*> last_bytes = nullptr;
std::array<bool, NSIG> ignored_at_start{};

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<const char*>::is_always_lock_free,
              "the handler needs it");

[[noreturn]] void end_at_once(int signal) {
  if (const char* const bytes = last_bytes) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, bytes, std::strlen(bytes));
  }
  ::_exit(128 + signal);
}

extern "C" void on_stop_signal(int signal) {
  const int saved = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) {
    if (second_counts) end_at_once(signal);
    errno = saved;
    return;
  }
  const char byte = 's';
  [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);
  ::close(gone_pipe[1]);
  errno = saved;
}

// Not SIG_IGN: that would be inherited by the programs we start, a handler is not.
extern "C" void on_closed_pipe(int) {}

}  // namespace

Signals::Signals(Runtime& runtime) {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction found {};
    if (::sigaction(signal, nullptr, &found) == 0)
      ignored_at_start[static_cast<std::size_t>(signal)] = found.sa_handler == SIG_IGN;
  }
  check(::pipe2(wake_pipe.data(), O_CLOEXEC) == 0 && ::pipe2(gone_pipe.data(), O_CLOEXEC) == 0,
        "a process may open four files");
  listener_ = runtime.spawn("signals", [this, &runtime](std::stop_token ending) {
    const std::stop_callback wake(ending, [] {
      const char byte = 'e';
      [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);
    });
    char byte = 0;
    while (::read(wake_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte != 's') return;
    stop_.request_stop();
    if (runtime.sleep_for(kSameWish, ending)) second_counts = true;
  });
  handle_signal(SIGINT, on_stop_signal);
  handle_signal(SIGTERM, on_stop_signal);
  handle_signal(SIGPIPE, on_closed_pipe);
}

Signals::~Signals() = default;

bool ignored_from_the_start(int signal) { return ignored_at_start.at(static_cast<std::size_t>(signal)); }

void handle_signal(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  check(::sigaction(signal, &action, nullptr) == 0, "signals can be handled");
}

int stop_signal() { return first_signal; }

void write_at_forced_end(const char* bytes) { last_bytes = bytes; }

bool wait_readable(int fd) {
  std::array<pollfd, 2> fds{{{fd, POLLIN, 0}, {gone_pipe[0], 0, 0}}};
  while (first_signal == 0) {
    const int ready = ::poll(fds.data(), gone_pipe[0] < 0 ? 1 : 2, -1);
    if (ready > 0 && fds[0].revents != 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // then the read itself will say what is wrong
  }
  return false;
}

}  // namespace fenceline::cli
