// The one place of this process that writes: a thread that takes the calls waiting for it, commits them together in
// the writers' turn, and checkpoints in the same turn. Each call is a savepoint of its own; only an error of the
// commit itself fails them all.
//
// A call that was not begun at its deadline leaves the queue and did not happen (`unavailable`); one that was begun
// is `in_doubt`. After an I/O error in a commit or a checkpoint nothing is written any more: a second fsync can
// succeed over lost pages.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/checkpoints.hpp"
#include "backends/sqlite/database.hpp"
#include "backends/sqlite/lock_file.hpp"
#include "backends/sqlite/names.hpp"
#include "backends/sqlite/store_files.hpp"
#include "backends/sqlite/verbs.hpp"
#include "backends/sqlite/wake_file.hpp"
#include "base/log.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::sqlite {

// The process that has the turn, for messages: "process 4711 holds the write lock", and whether it is stopped.
std::string describe_holder(std::optional<pid_t> holder);

struct WriterOptions {
  std::string path;
  int checkpoint_pages = 1000;
  StoreFiles files = {};  // as they were opened
};

class Writer {
 public:
  // Its savepoint is kept if it returns true. Runs at most once, on the writer's thread, perhaps after the caller left:
  // it owns all that it touches.
  using Body = std::function<bool(Call&)>;

  // All must outlive the writer. `db` is its own from now on.
  Writer(Runtime& runtime, const Clock& clock, Log log, Database& db, LockFile& locks, WakeFile& wakes,
         WriterOptions options);
  // Ends the thread, also out of a wait for the turn. No call may be under way.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Returns when the group of the call was committed. `rows` bounds the group. Errors: unavailable, in_doubt, full,
  // broken; what the body itself found is its own business.
  Result<void> run(std::size_t rows, std::size_t bytes, Duration timeout, Body body);

  // How many transactions were committed: fewer than calls if these came side by side.
  std::int64_t commits() const { return commits_; }
  // How many calls stand in the queue, not begun.
  std::size_t waiting() const;
  std::optional<Error> broken() const;
  // From now on nothing is written in this process, and everyone is told so: also by a connection of the application
  // that met the same disk. The error as it is told.
  Error mark_broken(Error error);
  // Empty: nothing is broken, and the database is still the file that has its name; with `every_file`, so are those
  // beside it. Else nothing is written any more, and it is never opened again here.
  std::optional<Error> trouble(bool every_file = false);

 private:
  enum class Stage { queued, begun, answered };
  struct Pending {
    std::size_t rows;
    std::size_t bytes;
    Instant entered;
    Body body;
    Stage stage = Stage::queued;
    std::optional<Error> error;
    std::unique_ptr<Event> answered;
  };
  using Group = std::vector<std::shared_ptr<Pending>>;

  void start_once();
  void loop(std::stop_token stop);
  Group take_group();
  std::optional<Error> begin();
  Error mark_gone(Error error);
  void undo();
  std::optional<Error> commit(const Group& group, std::set<QueueName>& awakened);
  std::optional<Error> perform(Pending& pending, std::set<QueueName>& awakened);
  void answer(const Group& group, const std::optional<Error>& error);
  void fail_queued(const Error& error);

  Runtime& runtime_;
  const Clock& clock_;
  Log log_;
  Database& db_;
  Names names_;
  LockFile& locks_;
  WakeFile& wakes_;
  WriterOptions options_;
  Checkpoints checkpoints_;

  mutable std::mutex mutex_;  // guards the two below and the stage and error of each call
  std::deque<std::shared_ptr<Pending>> queue_;
  std::optional<Error> broken_;

  std::atomic<std::int64_t> commits_{0};
  std::atomic<bool> blocked_{false};  // the last turn met a lock that is not ours
  std::unique_ptr<Event> work_;
  std::atomic<bool> started_{false};
  Task task_;
};

}  // namespace fenceline::sqlite
