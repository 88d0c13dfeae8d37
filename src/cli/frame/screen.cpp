// The handlers of signals may do next to nothing: they write orders to the terminal, set its mode, and write a byte
// into a pipe.
#include "cli/frame/screen.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>

#include "base/check.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/signals.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kTake =
    "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";  // another screen, no cursor, no wrapping, empty
constexpr std::string_view kGiveBack = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kKeyPause = 50;  // milliseconds: what a terminal sends for one key comes together
constexpr std::array<int, 7> kCrashes{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT, SIGHUP};

termios before{};
std::array<int, 2> screen_pipe{-1, -1};
volatile std::sig_atomic_t screen_taken = 0;
volatile std::sig_atomic_t redraw = 0;  // whatever stood there is gone

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void take() {
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z stay signals
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(kTake);
  screen_taken = 1;
  redraw = 1;
}

void give_back() {
  if (screen_taken == 0) return;
  screen_taken = 0;
  write_all(kGiveBack);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

extern "C" void on_crash(int signal) {
  give_back();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

extern "C" void on_resize(int) {
  const int saved = errno;
  redraw = 1;
  Screen::wake();
  errno = saved;
}

// Ctrl-Z: the shell gets its terminal as it was; fg brings the picture back.
extern "C" void on_suspend(int) {
  const int saved = errno;
  give_back();
  std::signal(SIGTSTP, SIG_DFL);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, SIGTSTP);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);  // it stops here
  handle_signal(SIGTSTP, on_suspend);
  take();
  Screen::wake();
  errno = saved;
}

}  // namespace

Result<void> Screen::usable() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1)
    return fail(Code::refused, "standard output is not a terminal");
  if (from_environment("TERM").value_or("dumb") == "dumb") return fail(Code::refused, "this terminal is not supported");
  return {};
}

Screen::Screen() {
  check(::tcgetattr(STDIN_FILENO, &before) == 0, "a terminal tells its mode");
  check(::pipe2(screen_pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a process may open two files");
  for (const int signal : kCrashes) handle_signal(signal, on_crash);
  handle_signal(SIGWINCH, on_resize);
  handle_signal(SIGTSTP, on_suspend);
  take();
}

Screen::~Screen() { leave(); }

void Screen::leave() {
  give_back();
  for (const int signal : kCrashes) std::signal(signal, SIG_DFL);
  std::signal(SIGWINCH, SIG_DFL);
  std::signal(SIGTSTP, SIG_DFL);
}

Screen::Size Screen::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void Screen::draw(const std::vector<std::string>& lines) {
  std::string out;
  if (redraw != 0) {
    redraw = 0;
    shown_.clear();
    out += "\x1b[2J";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < shown_.size() && shown_[i] == lines[i]) continue;
    out += "\x1b[" + std::to_string(i + 1) + ";1H" + lines[i] + "\x1b[K";
  }
  if (lines.size() < shown_.size()) out += "\x1b[" + std::to_string(lines.size() + 1) + ";1H\x1b[J";
  shown_ = lines;
  write_all(out);
}

Screen::Typed Screen::wait() {
  std::array<pollfd, 2> fds{{{STDIN_FILENO, POLLIN, 0}, {screen_pipe[0], POLLIN, 0}}};
  if (::poll(fds.data(), fds.size(), -1) < 0) return {};
  std::array<char, 256> bytes{};
  if (fds[1].revents != 0) {
    while (::read(screen_pipe[0], bytes.data(), bytes.size()) > 0) {
    }
  }
  if (fds[0].revents == 0) return {};
  const ssize_t length = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (length <= 0) return {.over = true};
  Typed typed{.bytes = std::string(bytes.data(), static_cast<std::size_t>(length))};
  pollfd more{STDIN_FILENO, POLLIN, 0};
  typed.complete = ::poll(&more, 1, typed.bytes.ends_with('\x1b') ? kKeyPause : 0) <= 0;
  return typed;
}

void Screen::wake() {
  const char byte = 'w';
  [[maybe_unused]] const ssize_t written = ::write(screen_pipe[1], &byte, 1);
}

}  // namespace fenceline::cli
