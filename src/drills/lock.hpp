// The common frame of the drills of locks: processes of this program that hold locks of a namespace of its own, what
// they say as they work, and what was measured.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/own_process.hpp"
#include "drills/folder.hpp"

namespace fenceline::cli {

// What a holder says each time it acts: "WHO FENCE US".
struct LockBeat {
  std::string who;
  Fence fence = 0;
  Instant at;
};
std::string to_line(const LockBeat& beat);
// Empty: the line is something else.
std::optional<LockBeat> parse_beat(const std::string& line);

class LockDrill {
 public:
  LockDrill(Invocation& invocation, Store& store, std::string name);
  ~LockDrill();
  LockDrill(const LockDrill&) = delete;
  LockDrill& operator=(const LockDrill&) = delete;

  Runtime& runtime() const { return runtime_; }
  Store& store() const { return store_; }
  const std::string& ns() const { return ns_; }
  const std::string& folder() const { return folder_.path(); }

  // `fenceline WORDS...` on the drill's store and in its namespace; its stderr is kept for said_by(). What holders do
  // is written into the drill's history.
  Result<std::unique_ptr<OwnProcess>> start(const std::string& who, std::vector<std::string> words,
                                            const std::map<std::string, std::string>& environment = {});
  // The last line that it said on stderr, as the cause of a fault.
  std::string said_by(const std::string& who) const;
  // The same to its end; its exit status.
  int run(const std::string& who, std::vector<std::string> words,
          const std::map<std::string, std::string>& environment = {});

  // The next beat of a process; empty when `deadline` passed, or it ended.
  static std::optional<LockBeat> next_beat(OwnProcess& process, Instant deadline);
  // All that it has said until now and is not read yet.
  std::vector<LockBeat> beats_so_far(OwnProcess& process);

  // What holders saw must keep every promise of locks.
  void audit();

  // False if the drill was interrupted.
  bool wait(Duration how_long);

  void fault(std::string sentence) { faults_.push_back(std::move(sentence)); }
  bool whole() const { return faults_.empty(); }
  void measured(const std::string& name, Duration duration) { figures_.emplace_back(name, duration); }

  // "fail_over 10.02 s, ..."
  std::string figures() const;

  // Gives the history to the checker, removes what the drill left in the store, prints the figures and the verdict, and
  // gives the exit code. `words` is what held, with its figures.
  Result<int> finish(const std::string& words);

 private:
  Invocation& invocation_;
  Runtime& runtime_;
  Store& store_;
  const std::string name_;
  const std::string ns_;
  DrillFolder folder_;
  std::int64_t grants_ = 0;  // that the checker saw
  std::vector<std::string> faults_;
  std::vector<std::pair<std::string, Duration>> figures_;
};

// "12.34 s".
std::string in_seconds(Duration duration);

}  // namespace fenceline::cli
