#include "runtime/guardian.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/check.hpp"
#include "base/crash_point.hpp"
#include "runtime/boot_clock.hpp"
#include "runtime/child_process.hpp"
#include "runtime/process_tree.hpp"

namespace fenceline {
namespace {

class Guardian {
 public:
  explicit Guardian(const GuardianOptions& options) : options_(options) {}

  int guard();

 private:
  bool start();
  void read_orders();
  void obey(const GuardianOrder& order);
  void set_timer();
  void tell_to_end();
  // Waits for an order, the deadline or the command's end.
  void wait();
  void note_end(pid_t pid, ExitStatus status);
  void report(const std::string& line);
  bool is_late() const { return clock_.now() >= kill_at_; }
  // Attached: when the command is told that its time is nearly over.
  Instant tell_at() const {
    return options_.attached && !told_ && kill_at_ != Instant::max() ? kill_at_ - options_.attached->grace
                                                                     : Instant::max();
  }

  const GuardianOptions& options_;
  BootClock clock_;
  UniqueFd orders_{kOrdersFd};
  UniqueFd reports_{kReportsFd};
  UniqueFd timer_{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)};
  std::string unread_;
  bool worker_gone_ = false;
  std::optional<Instant> trusted_;
  Instant kill_at_ = Instant::max();  // by the worker's wish; the trust deadline counts too
  std::optional<Instant> term_kill_at_;
  bool told_ = false;  // attached: TERM was sent
  bool told_by_time_ = false;
  std::vector<int> early_signals_;  // that came before the command
  ChildProcess command_;
  std::optional<ExitStatus> ended_;
};

int Guardian::guard() {
  FENCELINE_CRASH_POINT(guardian_ready);
  while (!trusted_ && !worker_gone_) wait();
  if (worker_gone_) return 0;
  if (!start()) return 0;
  while (!ended_ && !worker_gone_ && !is_late()) {
    wait();
    if (ended_ || clock_.now() < tell_at()) continue;
    tell_to_end();
    told_by_time_ = true;
  }
  const bool ended_by_itself = ended_.has_value() && !told_by_time_;
  end_all_descendants([this](pid_t pid, ExitStatus status) { note_end(pid, status); });
  FENCELINE_CRASH_POINT(command_exit);
  if (ended_by_itself) {
    report((ended_->exited ? "exited " : "killed ") + std::to_string(ended_->number));
  } else {
    report("stopped");
  }
  FENCELINE_CRASH_POINT(guardian_exit);
  return 0;
}

bool Guardian::start() {
  FENCELINE_CRASH_POINT(command_spawn_before);
  // Too late already, or told to stop before it began.
  if (is_late() || term_kill_at_) {
    report("stopped");
    return false;
  }
  // Should the guardian itself be killed, and the worker with it, nobody else is left to end the command.
  Result<ChildProcess> command =
      spawn_child({.program = options_.command.front(),
                   .arguments = options_.command,
                   .environment = options_.environment,
                   .group = options_.attached ? options_.attached->group : 0,
                   .dies_with_us = true,
                   .ignored = options_.attached ? options_.attached->ignored : std::vector<int>{}});
  if (!command) {
    report((command.error().code == Code::unavailable ? "no_room " : "cannot_start ") + command.error().message);
    return false;
  }
  command_ = std::move(*command);
  for (const int signal : early_signals_) ::kill(command_.pid, signal);
  FENCELINE_CRASH_POINT(command_spawn_after);
  // Who reads the other ends shall see the end of the command, not ours.
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), fd);
  return true;
}

void Guardian::wait() {
  std::array<pollfd, 3> fds{
      {{orders_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}, {command_.exited.get(), POLLIN, 0}}};
  if (::poll(fds.data(), fds.size(), -1) < 0) return;
  if (fds[0].revents != 0) read_orders();
  // Also what the command left behind and has ended since.
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) note_end(pid, exit_status_of(status));
}

void Guardian::note_end(pid_t pid, ExitStatus status) {
  if (pid == command_.pid) ended_ = status;
}

void Guardian::read_orders() {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(orders_.get(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  worker_gone_ = count <= 0;
  if (worker_gone_) return;
  unread_.append(buffer.data(), static_cast<std::size_t>(count));
  for (std::size_t end = 0; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
    if (const auto order = parse_order(std::string_view(unread_).substr(0, end))) obey(*order);
  }
}

void Guardian::obey(const GuardianOrder& order) {
  if (order.kind == GuardianOrder::Kind::signal) {
    if (command_.pid <= 0) early_signals_.push_back(order.signal);
    else if (!ended_) ::kill(command_.pid, order.signal);
    return;
  }
  if (order.kind == GuardianOrder::Kind::trust) {
    trusted_ = order.at;
  } else {
    term_kill_at_ = order.at;
    tell_to_end();
  }
  kill_at_ = std::min(trusted_.value_or(Instant::max()), term_kill_at_.value_or(Instant::max()));
  set_timer();
}

void Guardian::tell_to_end() {
  if (command_.pid <= 0 || ended_) return;
  if (options_.attached) {
    signal_descendants(SIGTERM);  // the group is not its own
  } else {
    ::kill(-command_.pid,
           SIGTERM);  // its group only: what is outside is ended, with no word, when the command has ended
  }
  told_ = options_.attached.has_value();
  set_timer();
}

void Guardian::set_timer() {
  itimerspec when{};
  // A zero would disarm it.
  when.it_value = clock_.as_boottime(std::max(std::min(kill_at_, tell_at()), Instant{Duration{1}}));
  check(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) == 0, "a timer can be set");
}

void Guardian::report(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(reports_.get(), text.data(), text.size());
}

std::optional<Instant> parse_instant(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Instant{Duration{count}};
}

}  // namespace

std::string to_line(const GuardianOrder& order) {
  if (order.kind == GuardianOrder::Kind::signal) return "signal " + std::to_string(order.signal) + "\n";
  return (order.kind == GuardianOrder::Kind::trust ? "trust " : "term ") +
         std::to_string(order.at.time_since_epoch().count()) + "\n";
}

std::optional<GuardianOrder> parse_order(std::string_view line) {
  for (const auto kind : {GuardianOrder::Kind::trust, GuardianOrder::Kind::term}) {
    const std::string_view word = kind == GuardianOrder::Kind::trust ? "trust " : "term ";
    if (!line.starts_with(word)) continue;
    if (const auto at = parse_instant(line.substr(word.size()))) return GuardianOrder{kind, *at};
  }
  constexpr std::string_view kSignal = "signal ";
  if (line.starts_with(kSignal)) {
    // An Instant is a number as good as any.
    const auto number = parse_instant(line.substr(kSignal.size()));
    if (number && number->time_since_epoch().count() > 0 && number->time_since_epoch().count() < NSIG)
      return GuardianOrder{GuardianOrder::Kind::signal, {}, static_cast<int>(number->time_since_epoch().count())};
  }
  return std::nullopt;
}

int run_guardian(const GuardianOptions& options) {
  // Ctrl-C and a polite end are for the worker; it tells us by the pipe.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  for (const int fd : {kOrdersFd, kReportsFd}) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return 64;  // started by hand
  }
  // Nor what the worker itself was started with.
  ::close_range(kReportsFd + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  check(become_subreaper(), "a process can be a subreaper");
  return Guardian(options).guard();
}

}  // namespace fenceline
