#include "runtime/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/check.hpp"

extern char** environ;

namespace fenceline {
namespace {

constexpr int kFirstOfOurs = 10;

std::string system_error(int number) { return std::strerror(number); }

Result<UniqueFd> moved_up(UniqueFd fd) {
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstOfOurs));
  if (!moved) return fail(Code::unavailable, "no free file descriptor: " + system_error(errno));
  return moved;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

Code code_of_exec(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR: return Code::not_found;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return Code::unavailable;
    default: return Code::refused;
  }
}

struct SpawnSettings {
  explicit SpawnSettings(bool own_group, pid_t group) {
    check(::posix_spawn_file_actions_init(&actions) == 0 && ::posix_spawnattr_init(&attributes) == 0,
          "a spawn can be described");
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, group);
    ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                               (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// The body of a child between fork and exec, where only what is safe in a signal handler may be called.
[[noreturn]] void become(const SpawnRequest& request, const char* path, char* const* arguments,
                         char* const* environment, pid_t parent, int trouble) {
  sigset_t none;
  sigemptyset(&none);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  for (const int signal : request.ignored) ::signal(signal, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (request.own_group && ::setpgid(0, request.group) != 0) ::setpgid(0, 0);
  for (const auto& [ours, theirs] : request.descriptors) ::dup2(ours, theirs);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent) ::execve(path, arguments, environment);  // else it ended before the kernel knew
  const int number = errno;
  [[maybe_unused]] const ssize_t written = ::write(trouble, &number, sizeof number);
  ::_exit(127);
}

// What posix_spawn() has no word for.
int spawn_to_die_with_us(const SpawnRequest& request, char* const* arguments, char* const* environment, pid_t& pid) {
  const Result<std::string> path = find_program(request.program);
  if (!path) return path.error().code == Code::not_found ? ENOENT : EACCES;
  Result<Pipe> trouble = make_pipe();
  if (!trouble) return EMFILE;
  const pid_t parent = ::getpid();
  pid = ::fork();
  if (pid == 0) become(request, path->c_str(), arguments, environment, parent, trouble->write.get());
  if (pid < 0) return errno;
  trouble->write.reset();
  int number = 0;
  ssize_t count = 0;
  do {
    count = ::read(trouble->read.get(), &number, sizeof number);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof number) return 0;  // closed by its exec
  ::waitpid(pid, nullptr, 0);
  return number;
}

// A script names its interpreter in the first line; other text is nothing that a kernel can start.
Result<void> check_format(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!file || !std::getline(file, line) || line.empty()) return {};  // exec may where we may not read
  if (line.starts_with("#!")) {
    const std::size_t begin = line.find_first_not_of(" \t", 2);
    if (begin == std::string::npos) return {};
    const std::string interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
    if (::access(interpreter.c_str(), X_OK) != 0)
      return fail(Code::not_found, path + " needs " + interpreter + ", which cannot be started");
    return {};
  }
  const auto first = static_cast<unsigned char>(line.front());
  const bool is_text = first < 0x7f && (first >= 0x20 || first == '\t' || first == '\r');
  if (is_text && line.find('\0') == std::string::npos)
    return fail(Code::refused, path + " is not a program and has no #! line");
  return {};
}

// Errors: not_found, refused.
Result<std::string> check_program(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(errno == EACCES ? Code::refused : Code::not_found, path + ": " + system_error(errno));
  }
  if (!S_ISREG(info.st_mode)) return fail(Code::refused, path + " is not a program");
  if (::access(path.c_str(), X_OK) != 0)
    return fail(Code::refused, path + " is not executable: " + system_error(errno));
  if (const Result<void> format = check_format(path); !format) return std::unexpected(format.error());
  return path;
}

}  // namespace

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::unavailable, "cannot create a pipe: " + system_error(errno));
  Result<UniqueFd> read = moved_up(UniqueFd(ends[0]));
  Result<UniqueFd> write = moved_up(UniqueFd(ends[1]));
  if (!read) return std::unexpected(read.error());
  if (!write) return std::unexpected(write.error());
  return Pipe{std::move(*read), std::move(*write)};
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

ExitStatus exit_status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.exited = false, .number = WTERMSIG(wait_status)};
  return {.exited = true, .number = WEXITSTATUS(wait_status)};
}

std::string to_string(const ExitStatus& status) {
  return (status.exited ? "exit status " : "killed by signal ") + std::to_string(status.number);
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& ours) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : ours) replaced = replaced || key == name;
    if (!replaced) environment.push_back(text);
  }
  for (const auto& [key, value] : ours) environment.push_back(key + "=" + value);
  return environment;
}

Result<ChildProcess> spawn_child(const SpawnRequest& request) {
  SpawnSettings settings(request.own_group, request.group);
  for (const auto& [ours, theirs] : request.descriptors)
    ::posix_spawn_file_actions_adddup2(&settings.actions, ours, theirs);
  const std::vector<char*> arguments = pointers(request.arguments);
  const std::vector<char*> environment = request.environment ? pointers(*request.environment) : std::vector<char*>{};
  char* const* variables = request.environment ? environment.data() : environ;
  ChildProcess child;
  const int trouble = request.dies_with_us ? spawn_to_die_with_us(request, arguments.data(), variables, child.pid)
                                           : ::posix_spawnp(&child.pid, request.program.c_str(), &settings.actions,
                                                            &settings.attributes, arguments.data(), variables);
  if (trouble != 0)
    return fail(code_of_exec(trouble), "cannot start " + request.program + ": " + system_error(trouble));
  child.exited = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  return child;
}

ExitStatus reap(const ChildProcess& child) {
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(child.pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  // Somebody else has taken its status, as the kernel does where SIGCHLD is ignored: whether it did its work, nobody
  // knows.
  return reaped == child.pid ? exit_status_of(status) : ExitStatus{.exited = false, .number = SIGKILL};
}

Result<std::string> find_program(const std::string& program) {
  if (program.empty()) return fail(Code::not_found, "no command was named");
  if (program.find('/') != std::string::npos) return check_program(program);
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/bin:/usr/bin";
  std::optional<Error> refused;
  rest += ':';
  for (std::size_t end = 0; (end = rest.find(':')) != std::string::npos; rest.erase(0, end + 1)) {
    const std::string folder = end == 0 ? "." : rest.substr(0, end);
    Result<std::string> found = check_program(folder + "/" + program);
    if (found) return found;
    if (found.error().code == Code::refused && !refused) refused = found.error();
  }
  if (refused) return std::unexpected(*refused);
  return fail(Code::not_found, program + ": no such command");
}

}  // namespace fenceline
