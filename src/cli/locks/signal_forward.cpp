#include "cli/locks/signal_forward.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/check.hpp"
#include "cli/frame/signals.hpp"

namespace fenceline::cli {
namespace {

constexpr std::array kForwarded{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
constexpr char kEnd = 0;         // no signal
constexpr char kNotOurs = 0x40;  // with a signal: the command has it already

std::array<int, 2> signal_pipe{-1, -1};
std::array<struct sigaction, kForwarded.size()> before{};

extern "C" void on_forwarded_signal(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  // By the kernel, for a terminal: the whole group has it.
  const char byte = static_cast<char>(info->si_code > 0 ? signal | kNotOurs : signal);
  [[maybe_unused]] const auto written = ::write(signal_pipe[1], &byte, 1);
  errno = saved;
}

bool asks_to_end(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM; }

// The next one that came; kEnd when it is over.
char next_signal() {
  char byte = kEnd;
  while (::read(signal_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
  return byte;
}

}  // namespace

SignalForward::SignalForward(Runtime& runtime, std::function<void(int)> pass_on) {
  check(signal_pipe[0] < 0 && ::pipe2(signal_pipe.data(), O_CLOEXEC) == 0,
        "signals are forwarded by one at a time, which may open two files");
  listener_ = runtime.spawn("signal_forward", [this, &runtime, pass_on = std::move(pass_on)](std::stop_token ending) {
    const std::stop_callback wake(ending,
                                  [] { [[maybe_unused]] const auto written = ::write(signal_pipe[1], &kEnd, 1); });
    Instant asked_at = Instant::min();
    for (char signal = next_signal(); signal != kEnd; signal = next_signal()) {
      const int number = signal & ~kNotOurs;
      if (asks_to_end(number)) {
        const Instant now = runtime.now();
        const bool same_wish = number == asked_to_end_ && now < asked_at + kSameWish;
        asked_to_end_ = number;
        if (same_wish) continue;
        asked_at = now;
      }
      if (number == signal) pass_on(number);
    }
  });
  struct sigaction action {};
  action.sa_sigaction = on_forwarded_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  struct sigaction none {};
  none.sa_handler = SIG_IGN;
  for (std::size_t i = 0; i < kForwarded.size(); ++i)
    check(::sigaction(kForwarded[i], ignored_from_the_start(kForwarded[i]) ? &none : &action, &before[i]) == 0,
          "signals can be handled");
}

std::vector<int> SignalForward::ignored() {
  std::vector<int> signals;
  for (const int signal : kForwarded) {
    if (ignored_from_the_start(signal)) signals.push_back(signal);
  }
  return signals;
}

SignalForward::~SignalForward() {
  for (std::size_t i = 0; i < kForwarded.size(); ++i) ::sigaction(kForwarded[i], &before[i], nullptr);
  listener_ = Task();
  for (int& end : signal_pipe) ::close(std::exchange(end, -1));
}

}  // namespace fenceline::cli
