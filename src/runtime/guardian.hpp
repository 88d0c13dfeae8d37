// The parent of a command. It outlives the worker that started it for as long as it takes to end the command with all
// that it started: at the trust deadline, also if the worker is stopped; or as soon as the worker is gone. So a
// handler neither outlives a killed worker nor works on past the lease of a stopped one (L5).
//
// It is a process of its own (`fenceline guardian`), a subreaper, in a process group of its own, and speaks lines:
//   to it (kOrdersFd)      trust US    you may trust the lease until then; the first one starts the command
//                          term US     tell the command's group to end (TERM), kill it at the latest then
//                          signal N    send this signal to the command, and to nothing that it started
//                          the end     the worker is gone: kill
//   from it (kReportsFd)   exited N, killed N       how the command ended by itself; nothing that it started is left
//                          stopped                  the guardian had to kill it; nothing is left
//                          cannot_start WHY
//                          no_room WHY              it could not be started now, which is nobody's fault
// US is an Instant in microseconds. The command has the guardian's stdin, stdout and stderr.
//
// Attached, for a command that a person runs: it stays in the process group of whoever runs it, where a terminal lets
// it read and tells it of Ctrl-C; and some time before the deadline the guardian itself sends TERM, to all that the
// command started, so that it gets one though the one that would send it is stopped. A command that was told so counts
// as stopped, however it ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace fenceline {

inline constexpr int kOrdersFd = 3;
inline constexpr int kReportsFd = 4;

struct GuardianOptions {
  std::vector<std::string> command;
  std::optional<std::vector<std::string>> environment;  // of the command; empty: the guardian's own
  struct Attached {
    int group = 0;                  // the process group that the command joins
    Duration grace{};               // TERM comes so long before the deadline
    std::vector<int> ignored = {};  // signals that whoever runs it ignores, as under nohup: so does the command
  };
  std::optional<Attached> attached = std::nullopt;
};

struct GuardianOrder {
  enum class Kind { trust, term, signal } kind = Kind::trust;
  Instant at{};
  int signal = 0;  // of Kind::signal

  bool operator==(const GuardianOrder&) const = default;
};
std::string to_line(const GuardianOrder& order);  // with its newline
std::optional<GuardianOrder> parse_order(std::string_view line);

// The body of the guardian's process; returns its exit code when all is over. Takes over the signals, the children
// and the descriptors of the process.
int run_guardian(const GuardianOptions& options);

}  // namespace fenceline
