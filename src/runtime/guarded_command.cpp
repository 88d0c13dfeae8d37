#include "runtime/guarded_command.hpp"

#include <poll.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "runtime/read_some.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kLineBytesMax = 64 * 1024;  // a longer line of its stderr is cut when it goes on to ours

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody reads it
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::optional<int> number_after(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  int number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace

Result<std::unique_ptr<GuardedCommand>> GuardedCommand::start(const GuardedCommandOptions& options) {
  std::array<Pipe, 5> pipes;
  auto& [input, output, errors, orders, reports] = pipes;
  for (Pipe& pipe : pipes) {
    if (options.attached && &pipe != &orders && &pipe != &reports) continue;
    Result<Pipe> made = make_pipe();
    if (!made) return std::unexpected(made.error());
    pipe = std::move(*made);
  }
  std::vector<std::string> arguments = options.guardian;
  if (arguments.front() == "/proc/self/exe")
    arguments.front() = ::program_invocation_short_name;  // for people who look for us in ps
  std::vector<std::pair<int, int>> descriptors{{orders.read.get(), kOrdersFd}, {reports.write.get(), kReportsFd}};
  if (!options.attached) {
    descriptors.insert(
        descriptors.begin(),
        {{input.read.get(), STDIN_FILENO}, {output.write.get(), STDOUT_FILENO}, {errors.write.get(), STDERR_FILENO}});
  }
  Result<ChildProcess> guardian = spawn_child({.program = options.guardian.front(),
                                               .arguments = arguments,
                                               .environment = options.environment,
                                               .descriptors = descriptors});
  if (!guardian) return std::unexpected(guardian.error());
  for (const int fd :
       {input.write.get(), output.read.get(), errors.read.get(), orders.write.get(), reports.read.get()}) {
    if (fd >= 0) set_nonblocking(fd);
  }
  return std::unique_ptr<GuardedCommand>(new GuardedCommand(options, std::move(*guardian), std::move(input.write),
                                                            std::move(output.read), std::move(errors.read),
                                                            std::move(orders.write), std::move(reports.read)));
}

GuardedCommand::GuardedCommand(const GuardedCommandOptions& options, ChildProcess guardian, UniqueFd input,
                               UniqueFd output, UniqueFd errors, UniqueFd orders, UniqueFd reports)
    : output_bytes_max_(options.output_bytes_max),
      errors_bytes_max_(options.errors_bytes_max),
      write_errors_(options.forward_errors ? options.forward_errors : &write_to_stderr),
      on_errors_(options.on_errors),
      guardian_(std::move(guardian)),
      input_(std::move(input)),
      output_(std::move(output)),
      errors_(std::move(errors)),
      orders_(std::move(orders)),
      reports_(std::move(reports)) {}

GuardedCommand::~GuardedCommand() {
  orders_.reset();
  if (!reaped_) reap(guardian_);
}

void GuardedCommand::order(const GuardianOrder& order) {
  const std::string line = to_line(order);
  [[maybe_unused]] const ssize_t written = ::write(orders_.get(), line.data(), line.size());
}

void GuardedCommand::kill_guardian() { ::syscall(SYS_pidfd_send_signal, guardian_.exited.get(), SIGKILL, nullptr, 0); }

CommandEnd GuardedCommand::attend(std::string_view input) {
  CommandEnd end;
  while (!over_) {
    if (input.empty()) input_.reset();
    std::array<pollfd, 4> fds{{{reports_.get(), POLLIN, 0},
                               {output_.get(), POLLIN, 0},
                               {errors_.get(), POLLIN, 0},
                               {input_.get(), POLLOUT, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[1].revents != 0) read_output(end);
    if (fds[2].revents != 0) read_errors(end);
    if (fds[3].revents != 0) feed(input);
    if (fds[0].revents != 0) read_report(end);
  }
  // All who could write have ended; what they wrote is here.
  while (output_) read_output(end);
  while (errors_) read_errors(end);
  forward_errors(true);
  const ExitStatus status = reap(guardian_);
  reaped_ = true;
  if (end.guardian_died) end.trouble = "its guardian process ended: " + to_string(status);
  return end;
}

void GuardedCommand::feed(std::string_view& input) {
  const ssize_t count = ::write(input_.get(), input.data(), input.size());
  if (count > 0) {
    input.remove_prefix(static_cast<std::size_t>(count));
  } else if (count < 0 && errno != EINTR && errno != EAGAIN) {
    input = {};  // it does not want it
  }
}

void GuardedCommand::read_output(CommandEnd& end) {
  const ReadEnd read = read_some(output_.get(), [&](std::string_view text) {
    const std::size_t room = output_bytes_max_ - end.output.size();
    end.output_too_large = end.output_too_large || text.size() > room;
    end.output.append(text.substr(0, room));
  });
  if (read == ReadEnd::closed || (over_ && read == ReadEnd::blocked)) output_.reset();
}

void GuardedCommand::read_errors(CommandEnd& end) {
  const ReadEnd read = read_some(errors_.get(), [&](std::string_view text) {
    line_.append(text);
    forward_errors(false);
    if (on_errors_) on_errors_(text);
    end.errors.append(text);
    if (end.errors.size() > errors_bytes_max_) end.errors.erase(0, end.errors.size() - errors_bytes_max_);
  });
  if (read == ReadEnd::closed || (over_ && read == ReadEnd::blocked)) errors_.reset();
}

// In whole lines, so that they do not run into those of our log or of another command.
void GuardedCommand::forward_errors(bool all) {
  const bool cut = all || line_.size() > kLineBytesMax;
  if (cut && !line_.empty() && line_.back() != '\n') line_ += '\n';
  const std::size_t end = line_.rfind('\n');
  if (end == std::string::npos) return;
  write_errors_(std::string_view(line_).substr(0, end + 1));
  line_.erase(0, end + 1);
}

void GuardedCommand::read_report(CommandEnd& end) {
  const ReadEnd read = read_some(reports_.get(), [&](std::string_view text) { report_.append(text); });
  if (const std::size_t newline = report_.find('\n'); newline != std::string::npos) {
    const std::string_view line = std::string_view(report_).substr(0, newline);
    if (const auto number = number_after(line, "exited ")) {
      end.status = ExitStatus{.exited = true, .number = *number};
    } else if (const auto signal = number_after(line, "killed ")) {
      end.status = ExitStatus{.exited = false, .number = *signal};
    } else if (line == "stopped") {
      end.stopped = true;
    } else {
      end.no_room = line.starts_with("no_room ");
      end.trouble = line.substr(line.find(' ') + 1);
    }
    over_ = true;
  } else if (read == ReadEnd::closed) {
    end.guardian_died = true;
    over_ = true;
  }
}

}  // namespace fenceline
