#include "cli/frame/own_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.hpp"

namespace fenceline::cli {
namespace {

std::vector<std::string> laid_over(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<std::unique_ptr<OwnProcess>> OwnProcess::start(Runtime& runtime, const std::vector<std::string>& arguments,
                                                      const std::map<std::string, std::string>& environment,
                                                      const std::string& stderr_path) {
  int to_child[2];
  int from_child[2];
  if (::pipe2(to_child, O_CLOEXEC) != 0)
    return fail(Code::unavailable, std::string("cannot create a pipe: ") + std::strerror(errno));
  if (::pipe2(from_child, O_CLOEXEC) != 0) {
    ::close(to_child[0]);
    ::close(to_child[1]);
    return fail(Code::unavailable, std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, to_child[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, from_child[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, stderr_path.empty() ? "/dev/null" : stderr_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);

  // A store's URL may contain a password, and every user of this machine can see arguments.
  std::vector<std::string> argv{"fenceline"};
  std::map<std::string, std::string> changes = environment;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      argv.insert(argv.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (arguments[i] == "--store" && i + 1 < arguments.size()) changes["FENCELINE_STORE"] = arguments[++i];
    else argv.push_back(arguments[i]);
  }
  std::vector<std::string> env = laid_over(changes);
  // In a session of its own: where a process is stopped, the kernel may hang up on its whole group, and that must not
  // be ours.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes, pointers(argv).data(), pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(to_child[0]);
  ::close(from_child[1]);
  if (error != 0) {
    ::close(to_child[1]);
    ::close(from_child[0]);
    return fail(Code::unavailable, std::string("cannot start a process for the drill: ") + std::strerror(error));
  }
  return std::unique_ptr<OwnProcess>(new OwnProcess(runtime, pid, to_child[1], from_child[0]));
}

OwnProcess::~OwnProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (stdin_ >= 0) ::close(stdin_);
  ::close(stdout_);
}

bool OwnProcess::fill(Instant deadline) {
  while (!ended_) {
    const Duration left = std::max(deadline - runtime_.now(), Duration{0});
    pollfd watched{stdout_, POLLIN, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left.count() / 1000 + 1, 1000)));
    if (ready == 0 && runtime_.now() >= deadline) return false;
    if (ready <= 0) continue;
    char chunk[4096];
    const ssize_t got = ::read(stdout_, chunk, sizeof chunk);
    if (got > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(got));
      return true;
    }
    if (got == 0) ended_ = true;
  }
  return false;
}

std::optional<std::string> OwnProcess::read_line(Instant deadline) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (!fill(deadline)) return std::nullopt;
  }
}

void OwnProcess::write_line(const std::string& line) {
  const std::string text = line + "\n";
  // A child that is gone does not read: its exit says what happened.
  [[maybe_unused]] const ssize_t written = ::write(stdin_, text.data(), text.size());
}

Exit OwnProcess::finish(Instant deadline, std::string* output) {
  check(pid_ > 0, "a drill's process is finished once");
  ::close(std::exchange(stdin_, -1));
  while (fill(deadline)) {
  }
  if (!ended_) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (output != nullptr) *output = std::move(buffer_);
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace fenceline::cli
