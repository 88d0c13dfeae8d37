// fenceline: where concrete things meet. Reads argv, sets up the runtime, the log and the signals, runs one
// command and turns its answer into an exit code.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "backends/sqlite/database.hpp"
#include "cli/commands.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/help.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/parse.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/stderr_log.hpp"
#include "cli/frame/terminal_log.hpp"
#include "cli/frame/text.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline::cli {
namespace {

// A batch of a thousand jobs is about a megabyte. Without this each of them is given back to the system and asked for
// again, page by page: a quarter of what a claim and its settle cost.
void keep_freed_memory() {
  constexpr int kKept = 16 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kKept);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

int report(const Error& error) {
  tell("fenceline: " + error_text(error));
  const bool interrupted = error.code == Code::held && stop_signal() != 0 && error.message.starts_with("interrupted");
  return interrupted ? interrupted_exit() : exit_code(error);
}

// An output error counts only if the command itself succeeded.
int closed(int code) {
  const Result<void> written = close_output();
  return written || code != kExitOk ? code : report(written.error());
}

int run_command(const CommandSpec& command, Invocation& invocation) {
  if (auto ok = settle_config(command, invocation); !ok) return report(ok.error());
  const Result<LogChoice> log = log_choice(command);
  if (!log) return report(log.error());
  const auto crash = armed_crash_point();
  if (!crash) return report(crash.error());
  if (*crash) arm_crash_point((*crash)->point, (*crash)->nth, (*crash)->mark);

  ThreadRuntime runtime;
  StderrLog json_log(runtime, log->least);
  TerminalLog terminal_log(runtime, log->least);
  const bool for_people = stderr_is_terminal();
  LogSink& shown_log = for_people ? static_cast<LogSink&>(terminal_log) : json_log;
  DeferredLog deferred_log(shown_log);
  const Signals signals(runtime);
  invocation.runtime = &runtime;
  invocation.log_sink = log->deferred ? static_cast<LogSink*>(&deferred_log) : &shown_log;
  invocation.terminal_log = for_people ? &terminal_log : nullptr;
  invocation.stop = signals.stop();
  const Result<int> answer = command.run(invocation);
  if (answer) deferred_log.release();
  return closed(answer ? *answer : report(answer.error()));
}

// A store opened as file 1 or 2 would get our words written into it. What is closed stays unusable.
void hold_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

std::string help_text(const std::vector<CommandSpec>& commands, const Parsed& parsed) {
  if (parsed.command) return command_help(*parsed.command);
  if (parsed.topic) return parsed.topic->text();
  return parsed.group.empty() ? program_help(command_groups()) : group_help(commands, parsed.group);
}

int run(const std::vector<std::string>& words) {
  const std::vector<CommandSpec> commands = all_commands();
  Result<Parsed> parsed = parse(commands, words);
  if (!parsed) return report(parsed.error());
  switch (parsed->wish) {
    case Parsed::Wish::run: return run_command(*parsed->command, parsed->invocation);
    case Parsed::Wish::overview: print(overview_text()); return closed(kExitUsage);
    case Parsed::Wish::help: {
      const std::string text = help_text(commands, *parsed);
      print(stdout_is_terminal() && colour_allowed() ? with_bold_headings(text) : text);
      return closed(kExitOk);
    }
  }
  return kExitBug;
}

}  // namespace
}  // namespace fenceline::cli

int main(int argc, char** argv) {
  using namespace fenceline;
  using namespace fenceline::cli;
  keep_freed_memory();
  sqlite::count_no_memory();
  hold_standard_files();
  std::signal(SIGCHLD, SIG_DFL);  // ignored, as some parents leave it, it would hide how our children end
  try {
    return run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    tell("fenceline: internal error: " + printable(one_line(error.what())) +
         "; please report it with the command you ran");
  } catch (...) {
    tell("fenceline: internal error: unknown exception; please report it with the command you ran");
  }
  return kExitBug;
}
