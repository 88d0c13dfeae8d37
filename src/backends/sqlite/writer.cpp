#include "backends/sqlite/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/crash_point.hpp"

namespace fenceline::sqlite {
namespace {

constexpr std::size_t kGroupCalls = 64;
constexpr std::size_t kGroupRows = 10'000;
constexpr std::size_t kGroupBytes = 16 << 20;  // so that one commit does not make the WAL large
constexpr Duration kIdle = std::chrono::hours{1};

}  // namespace

std::string describe_holder(std::optional<pid_t> holder) {
  if (!holder) return "no process holds the write lock now";
  if (*holder == 0) return "another process holds the write lock";
  const std::string pid = std::to_string(*holder);
  std::string state;
  std::ifstream status("/proc/" + pid + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:") && line.find('T') != std::string::npos) state = " and is stopped";
  }
  if (*holder == ::getpid()) state = " (this process: does it have an open transaction of its own?)";
  return "process " + pid + " holds the write lock" + state;
}

Writer::Writer(Runtime& runtime, const Clock& clock, Log log, Database& db, LockFile& locks, WakeFile& wakes,
               WriterOptions options)
    : runtime_(runtime),
      clock_(clock),
      log_(log),
      db_(db),
      names_(db),
      locks_(locks),
      wakes_(wakes),
      options_(std::move(options)),
      checkpoints_(db, log, options_.path, options_.checkpoint_pages),
      work_(runtime.make_event()) {}

Writer::~Writer() = default;

void Writer::start_once() {
  if (started_.exchange(true)) return;
  task_ = runtime_.spawn("sqlite_writer", [this](std::stop_token stop) { loop(stop); });
}

Result<void> Writer::run(std::size_t rows, std::size_t bytes, Duration timeout, Body body) {
  const Instant deadline = runtime_.now() + timeout;
  auto pending = std::make_shared<Pending>(
      Pending{rows, bytes, clock_.now(), std::move(body), Stage::queued, std::nullopt, runtime_.make_event()});
  {
    const std::lock_guard lock(mutex_);
    if (broken_) return std::unexpected(*broken_);
    queue_.push_back(pending);
  }
  start_once();
  work_->notify();
  const auto answered = [&] {
    const std::lock_guard lock(mutex_);
    return pending->stage == Stage::answered;
  };
  bool in_time = true;
  while (in_time && !answered()) in_time = pending->answered->wait_until(deadline);

  std::optional<pid_t> holder;
  if (!in_time) holder = locks_.turn_holder();
  const std::lock_guard lock(mutex_);
  if (pending->stage == Stage::answered)
    return pending->error ? Result<void>(std::unexpected(*pending->error)) : Result<void>();
  if (pending->stage == Stage::begun)
    return fail(Code::in_doubt, "store " + options_.path + ": the commit did not finish in time");
  std::erase(queue_, pending);
  const std::string why = blocked_ ? "a connection that is not fenceline's holds its lock" : describe_holder(holder);
  return fail(Code::unavailable, "store " + options_.path + ": " + why + "; nothing was changed");
}

std::optional<Error> Writer::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

std::optional<Error> Writer::trouble(bool every_file) {
  if (auto error = broken()) return error;
  const auto gone = every_file ? options_.files.changed() : options_.files.database_changed();
  if (!gone) return std::nullopt;
  return mark_gone(*gone);
}

Error Writer::mark_gone(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (broken_) return *broken_;
    broken_ = error;
  }
  log_.error("store_gone", {{"store", options_.path}, {"reason", error.message}});
  return error;
}

std::size_t Writer::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

Writer::Group Writer::take_group() {
  const std::lock_guard lock(mutex_);
  Group group;
  std::size_t rows = 0;
  std::size_t bytes = 0;
  while (!queue_.empty() && group.size() < kGroupCalls) {
    const Pending& next = *queue_.front();
    if (!group.empty() && (rows + next.rows > kGroupRows || bytes + next.bytes > kGroupBytes)) break;
    rows += next.rows;
    bytes += next.bytes;
    queue_.front()->stage = Stage::begun;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void Writer::answer(const Group& group, const std::optional<Error>& error) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& pending : group) {
      if (error) pending->error = error;
      pending->stage = Stage::answered;
    }
  }
  for (const auto& pending : group) pending->answered->notify();
}

void Writer::fail_queued(const Error& error) {
  for (Group group = take_group(); !group.empty(); group = take_group()) answer(group, error);
}

Error Writer::mark_broken(Error error) {
  // Whatever SQLite called it, also a disk without room for its shared memory: a commit may stand in the log, unseen
  // until the next recovery, so nobody may be told that it did not happen, nor ask here again.
  error.code = Code::broken;
  log_.error("store_broken", {{"store", options_.path}, {"reason", error.message}});
  const std::lock_guard lock(mutex_);
  broken_ = error;
  return error;
}

void Writer::loop(std::stop_token stop) {
  const std::stop_callback on_stop(stop, [this] { work_->notify(); });
  while (!stop.stop_requested()) {
    if (const auto error = broken()) fail_queued(*error);
    if (waiting() == 0) {
      work_->wait_until(runtime_.now() + kIdle);
      continue;
    }
    const Result<bool> turn = locks_.take_turn(stop);
    if (!turn) {
      mark_broken(turn.error());
      continue;
    }
    if (!*turn) break;
    FENCELINE_CRASH_POINT(sqlite_locked);
    if (trouble(true)) {
      locks_.end_turn();
      continue;
    }
    const std::optional<Error> no_begin = begin();
    blocked_ = no_begin && no_begin->code == Code::unavailable;
    if (no_begin && !blocked_) fail_queued(*no_begin);
    // Taken only now: who waited for the turn, or for a lock that is not ours, until its deadline has left.
    const Group group = no_begin ? Group{} : take_group();
    std::set<QueueName> awakened;
    if (!group.empty()) {
      std::optional<Error> error = commit(group, awakened);
      // Also after the commit: what is acknowledged stands in the file that others open.
      if (auto gone = error ? std::nullopt : options_.files.database_changed()) {
        mark_gone(*gone);
        gone->code = Code::in_doubt;
        error = std::move(gone);
      }
      answer(group, error);
      if (error) awakened.clear();
      // A log that cannot grow may still be emptied into the file: then there is room for the next call.
      const bool is_full = error && error->code == Code::full;
      if (!error || is_full) {
        if (const auto failed = is_full ? checkpoints_.run() : checkpoints_.run_if_due()) mark_broken(*failed);
      }
    } else if (!no_begin) {
      undo();
    }
    locks_.end_turn();
    wakes_.bump(awakened);
  }
  fail_queued({Code::unavailable, "store " + options_.path + " is being closed"});
}

// `unavailable`: a lock that is not ours is in the way, such as that of a process which recovers the log as the first
// to open the file, or of another program. Nothing has happened; who waits goes on waiting until its deadline.
std::optional<Error> Writer::begin() {
  try {
    db_.execute("BEGIN IMMEDIATE");
    return std::nullopt;
  } catch (const SqliteFailure& failure) {
    return failure.error(options_.path);
  }
}

void Writer::undo() {
  try {
    if (db_.in_transaction()) db_.execute("ROLLBACK");
  } catch (const SqliteFailure& failure) {
    mark_broken(failure.error(options_.path));
  }
}

// One call in its savepoint. An error that is its own stays its own; one that ended the transaction is thrown.
std::optional<Error> Writer::perform(Pending& pending, std::set<QueueName>& awakened) {
  db_.execute("SAVEPOINT one");
  std::optional<Error> error;
  bool keep = false;
  try {
    Call call(db_, names_, clock_, pending.entered);
    keep = pending.body(call);
    if (keep) {
      for (const std::int64_t queue_id : call.awakened) awakened.insert(names_.queue_name(queue_id));
      for (const std::string& ns : call.ordered) awakened.insert(orders_of(ns));
      awakened.insert(call.freed.begin(), call.freed.end());
    }
  } catch (const SqliteFailure& failure) {
    if (!db_.in_transaction()) throw;
    error = failure.error(options_.path);
    keep = false;
  }
  if (!keep) {
    db_.execute("ROLLBACK TO one");
    names_.forget();
  }
  db_.execute("RELEASE one");
  return error;
}

std::optional<Error> Writer::commit(const Group& group, std::set<QueueName>& awakened) {
  bool committing = false;
  try {
    FENCELINE_CRASH_POINT(sqlite_begun);
    for (const auto& pending : group) {
      const std::optional<Error> error = perform(*pending, awakened);
      const std::lock_guard lock(mutex_);
      pending->error = error;
    }
    FENCELINE_CRASH_POINT(sqlite_commit_before);
    committing = true;
    db_.execute("COMMIT");
  } catch (const SqliteFailure& failure) {
    names_.forget();
    Error error = failure.error(options_.path);
    if (committing && failure.is_io_error()) error = mark_broken(std::move(error));
    // Its frames may be in the log already.
    else if (committing && error.code == Code::unavailable) error.code = Code::in_doubt;
    undo();
    return error;
  }
  FENCELINE_CRASH_POINT(sqlite_commit_after);
  commits_ += 1;
  return std::nullopt;
}

}  // namespace fenceline::sqlite
