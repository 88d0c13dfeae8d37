#include "runtime/process_tree.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace fenceline {
namespace {

// Between two looks at what is left: a kill needs a moment, and a child may have forked before it hit.
constexpr int kLookAgainMs = 5;

struct Parentage {
  pid_t parent = 0;
  bool zombie = false;
};

// From /proc/PID/stat: "pid (name) state ppid ...", where the name may hold anything, also ')'.
std::optional<Parentage> parentage_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text, '\0') && text.empty()) return std::nullopt;
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || text.size() < end + 5) return std::nullopt;
  Parentage found{.parent = 0, .zombie = text[end + 2] == 'Z' || text[end + 2] == 'X'};
  std::from_chars(text.data() + end + 4, text.data() + text.size(), found.parent);
  return found;
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    const std::string name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    const std::optional<Parentage> found = parentage_of(pid);
    // A zombie has no children: they moved to its reaper when it died.
    if (found && !found->zombie) children.emplace(found->parent, pid);
  }
  return children;
}

void add_descendants(const std::multimap<pid_t, pid_t>& children, pid_t root, std::vector<pid_t>& found) {
  const auto [begin, end] = children.equal_range(root);
  for (auto it = begin; it != end; ++it) {
    if (std::ranges::find(found, it->second) != found.end()) continue;
    found.push_back(it->second);
    add_descendants(children, it->second, found);
  }
}

// By pidfd, and only if its parent is still of ours: the number may belong to another process by now.
void signal_descendant(pid_t pid, const std::set<pid_t>& family, int signal) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return;
  const std::optional<Parentage> now = parentage_of(pid);
  if (!now || !family.contains(now->parent)) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

void signal_all(const std::vector<pid_t>& pids, int signal) {
  std::set<pid_t> family(pids.begin(), pids.end());
  family.insert(::getpid());
  for (const pid_t pid : pids) signal_descendant(pid, family, signal);
}

void kill_all(const std::vector<pid_t>& pids) { signal_all(pids, SIGKILL); }

void look_again_later() { ::poll(nullptr, 0, kLookAgainMs); }

}  // namespace

bool become_subreaper() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; }

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> found;
  add_descendants(children_by_parent(), root, found);
  return found;
}

void signal_descendants(int signal) { signal_all(descendants_of(::getpid()), signal); }

void end_all_descendants(const std::function<void(pid_t, ExitStatus)>& reaped) {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid > 0) {
      reaped(pid, exit_status_of(status));
    } else if (pid < 0 && errno == ECHILD) {
      return;  // a subreaper without a child has no descendant
    } else if (pid == 0) {
      kill_all(descendants_of(::getpid()));
      look_again_later();
    }
  }
}

void end_strays(const std::set<pid_t>& others) {
  for (;;) {
    const std::multimap<pid_t, pid_t> children = children_by_parent();
    std::vector<pid_t> strays;
    const auto [begin, end] = children.equal_range(::getpid());
    for (auto it = begin; it != end; ++it) {
      if (others.contains(it->second)) continue;
      strays.push_back(it->second);
      add_descendants(children, it->second, strays);
    }
    if (strays.empty()) return;
    kill_all(strays);
    look_again_later();
    for (const pid_t pid : strays) ::waitpid(pid, nullptr, WNOHANG);
  }
}

}  // namespace fenceline
