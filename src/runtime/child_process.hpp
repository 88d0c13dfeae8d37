// Programs that we start: never through a shell, each in a process group of its own unless told otherwise, with no
// descriptor of ours but those it is given, and with every signal as it would be from a shell.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// Both ends are closed on exec, and numbered so high that they never stand in the way of a child's own. Errors:
// unavailable.
Result<Pipe> make_pipe();

// Ours only: the other end of the pipe blocks as before.
void set_nonblocking(int fd);

// How a process ended.
struct ExitStatus {
  bool exited = true;  // false: killed by a signal
  int number = 0;      // its exit status, or the signal

  bool operator==(const ExitStatus&) const = default;
};
ExitStatus exit_status_of(int wait_status);
std::string to_string(const ExitStatus& status);  // "exit status 3", "killed by signal 9"

struct SpawnRequest {
  std::string program;                                                 // a path, or a name that PATH finds
  std::vector<std::string> arguments;                                  // the first is its own name
  std::optional<std::vector<std::string>> environment = std::nullopt;  // "NAME=value"; empty: ours
  std::vector<std::pair<int, int>> descriptors = {};  // ours, and its number there; others are as they are
  bool own_group = true;                              // false: it stays in ours, where a terminal's signals reach it
  pid_t group = 0;                // instead of one of its own; with dies_with_us, one of its own if that is gone
  bool dies_with_us = false;      // killed by the kernel when the calling thread ends
  std::vector<int> ignored = {};  // with dies_with_us: signals that it ignores from the start, as under nohup
};

struct ChildProcess {
  pid_t pid = -1;
  UniqueFd exited;  // a pidfd: readable when it has ended
};

// Our own environment with these in place of what it has of their names.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& ours);

// The caller reaps it. Errors: not_found, refused (there, but not to be executed), unavailable (no room for a process).
Result<ChildProcess> spawn_child(const SpawnRequest& request);

// Waits for its end and reaps it.
ExitStatus reap(const ChildProcess& child);

// Where `program` is and that it can be started, as exec would look. Errors: not_found, refused.
Result<std::string> find_program(const std::string& program);

}  // namespace fenceline
