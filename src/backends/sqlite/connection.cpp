// Connections for the application's own tables. Whoever writes has the writers' turn, as the store's own writer has,
// from BEGIN to COMMIT and through a checkpoint that is due.
#include <sqlite3.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "backends/sqlite/connection_parts.hpp"
#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "base/check.hpp"
#include "base/crash_point.hpp"
#include "fenceline/sqlite.hpp"

namespace fenceline {
namespace {

constexpr const char* kLockFence = "SELECT fence FROM fenceline_lock WHERE ns_id = ?1 AND resource = ?2";

sqlite::TableGate::JobFence find_job_fence(SqliteConnectionParts& parts, const JobId& id) {
  sqlite::Call call(*parts.db, parts.names, parts.clock, parts.entered);
  const auto ns_id = call.names.find_namespace(parts.ns);
  if (const auto seq = ns_id ? sqlite::find_seq(call, *ns_id, id) : std::nullopt)
    return {true, sqlite::find_delivery(call, *seq).fence, 0};
  return {false, 0, sqlite::floor_of_fences(call)};
}

std::optional<Fence> find_lock_fence(SqliteConnectionParts& parts, const std::string& resource) {
  const auto ns_id = parts.names.find_namespace(parts.ns);
  return ns_id ? parts.db->number(kLockFence, *ns_id, resource) : std::nullopt;
}

}  // namespace

SqliteConnectionParts::SqliteConnectionParts(Runtime& used_runtime, const Clock& used_clock, Log log,
                                             const sqlite::OwnNames& names_of_ours, sqlite::Writer& its_writer,
                                             sqlite::WakeFile& its_wakes, std::unique_ptr<sqlite::LockFile> lock_file,
                                             std::unique_ptr<sqlite::Database> database, std::string file,
                                             std::string namespace_name, int checkpoint_pages)
    : runtime(used_runtime),
      clock(used_clock),
      own(names_of_ours),
      writer(its_writer),
      wakes(its_wakes),
      locks(std::move(lock_file)),
      db(std::move(database)),
      path(std::move(file)),
      ns(std::move(namespace_name)),
      pid(::getpid()),
      names(*db),
      checkpoints(*db, log, path, checkpoint_pages),
      rules(*db, own),
      gate(
          *db, rules, ns, [this](const JobId& id) { return find_job_fence(*this, id); },
          [this](const std::string& resource) { return find_lock_fence(*this, resource); }) {}

// A wait for the turn has no time-out of its own, so it is done on a thread that is told to stop at the deadline.
Result<void> SqliteConnectionParts::take_turn(Duration timeout) {
  if (locks->try_turn()) return {};
  const Instant deadline = runtime.now() + timeout;
  std::optional<Result<bool>> turn;
  const std::unique_ptr<Event> ended = runtime.make_event();
  Task task = runtime.spawn("sqlite_turn", [&](std::stop_token stop) {
    turn = locks->take_turn(stop);
    ended->notify();
  });
  const bool in_time = ended->wait_until(deadline);
  const std::optional<pid_t> holder = in_time ? std::nullopt : locks->turn_holder();
  task.request_stop();
  task.join();
  check(turn.has_value(), "the wait for the turn has ended");
  if (!*turn) return std::unexpected(turn->error());
  if (**turn) return {};
  return fail(Code::unavailable, "store " + path + ": " + sqlite::describe_holder(holder) + "; nothing was changed");
}

Result<void> SqliteConnectionParts::begin(Duration timeout) {
  if (const auto error = writer.broken()) return std::unexpected(*error);
  entered = clock.now();
  if (auto turn = take_turn(timeout); !turn) return turn;
  if (const auto error = writer.trouble(true)) {
    end();
    return std::unexpected(*error);
  }
  const sqlite::ApplicationRules::Ours ours(rules);
  try {
    db->execute("BEGIN IMMEDIATE");
    FENCELINE_CRASH_POINT(sqlite_begun);
    names.forget();
    gate.begin();
    awakened.clear();
    if (const std::int64_t version = db->number("PRAGMA schema_version").value_or(0); version != schema) {
      rules.set_protected(gate.protected_tables());
      schema = version;
    }
  } catch (const sqlite::SqliteFailure& failure) {
    end();
    return std::unexpected(failure.error(path));
  }
  open = true;
  rules.enter_transaction();
  return {};
}

void SqliteConnectionParts::end() {
  const sqlite::ApplicationRules::Ours ours(rules);
  // A commit that was not made is no error to anyone: what cannot be rolled back is rolled back by who opens the file
  // next.
  if (db->in_transaction()) sqlite3_exec(db->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  open = false;
  rules.leave_transaction();
  rules.let_commit(false);
  names.forget();
  schema = -1;
  locks->end_turn();
}

void SqliteConnectionParts::rollback() { end(); }

Result<void> SqliteConnectionParts::commit() {
  const sqlite::ApplicationRules::Ours ours(rules);
  bool committing = false;
  try {
    gate.remember();
    FENCELINE_CRASH_POINT(sqlite_commit_before);
    rules.let_commit(true);
    committing = true;
    db->execute("COMMIT");
  } catch (const sqlite::SqliteFailure& failure) {
    Error error = failure.error(path);
    const int primary = failure.code & 0xff;
    if (primary == SQLITE_CONSTRAINT)
      error = {Code::conflict, "the commit was refused: " + failure.message + "; nothing was changed"};
    else if (primary == SQLITE_BUSY)
      error = {Code::refused,
               "the commit was refused: " + failure.message + "; reset your statements first; nothing was changed"};
    else if (committing && failure.is_io_error()) error = writer.mark_broken(std::move(error));
    else if (committing && error.code == Code::unavailable)
      error.code = Code::in_doubt;  // its frames may be in the log already
    if (db->in_transaction()) sqlite3_exec(db->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    if (error.code == Code::full) {
      if (const auto failed = checkpoints.run()) writer.mark_broken(*failed);
    }
    end();
    return std::unexpected(error);
  }
  FENCELINE_CRASH_POINT(sqlite_commit_after);
  if (auto gone = writer.trouble()) {
    end();
    return fail(Code::in_doubt, gone->message);
  }
  if (const auto failed = checkpoints.run_if_due()) writer.mark_broken(*failed);
  const std::int64_t version_known = schema;
  end();
  schema = version_known;
  wakes.bump(awakened);
  return {};
}

Result<SqliteConnection> SqliteStore::connect(const SqliteConnectOptions& options) {
  if (auto ok = sqlite::check_process(parts_->pid); !ok) return std::unexpected(ok.error());
  if (auto ok = check_name("namespace", options.ns); !ok) return std::unexpected(ok.error());
  if (parts_->direct) return fail(Code::refused, "a store in memory has no other connections");
  if (const auto error = parts_->writer->trouble()) return std::unexpected(*error);
  const std::string& path = parts_->options.path;
  auto locks = sqlite::LockFile::open(path + "-lock");
  if (!locks) return std::unexpected(locks.error());
  try {
    static const sqlite::OwnNames own(parts_->clock);
    auto db = std::make_unique<sqlite::Database>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX);
    sqlite::configure(*db, parts_->options.synchronous == SqliteSync::full ? "FULL" : "NORMAL");
    // A statement outside a transaction is refused when it commits; until then nothing of it may reach the log, where
    // it would meet a checkpoint.
    db->run_script("PRAGMA cache_spill = OFF");
    // After a fork nothing of this is the child's to close.
    const auto close = [](SqliteConnectionParts* parts) {
      if (::getpid() == parts->pid) delete parts;
    };
    return SqliteConnection(std::shared_ptr<SqliteConnectionParts>(
        new SqliteConnectionParts(parts_->runtime, parts_->clock, parts_->log, own, *parts_->writer, *parts_->wakes,
                                  std::move(*locks), std::move(db), path, options.ns, parts_->options.checkpoint_pages),
        close));
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(failure.error(path));
  }
}

sqlite3* SqliteConnection::handle() const { return parts_->db->handle(); }
std::string SqliteConnection::refusal() const { return parts_->rules.refusal(); }

Result<SqliteTransaction> SqliteConnection::begin(Duration timeout) {
  if (::getpid() != parts_->pid)
    return fail(Code::refused,
                "the connection was opened before a fork; open the store and connect again in this process");
  if (parts_->open)
    return fail(Code::refused,
                "this connection already has an open transaction; end it first, or open another connection");
  if (auto begun = parts_->begin(timeout); !begun) return std::unexpected(begun.error());
  return SqliteTransaction(parts_);
}

Result<void> SqliteConnection::protect_table(const ProtectedTable& table, Duration timeout) {
  Result<SqliteTransaction> transaction = begin(timeout);
  if (!transaction) return std::unexpected(transaction.error());
  try {
    const sqlite::ApplicationRules::Ours ours(parts_->rules);
    if (auto done = parts_->gate.protect(table, parts_->own); !done) return done;
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(failure.error(parts_->path));
  }
  return transaction->commit();
}

Result<void> SqliteConnection::unprotect_table(const std::string& table, Duration timeout) {
  Result<SqliteTransaction> transaction = begin(timeout);
  if (!transaction) return std::unexpected(transaction.error());
  try {
    const sqlite::ApplicationRules::Ours ours(parts_->rules);
    parts_->gate.unprotect(table);
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(failure.error(parts_->path));
  }
  return transaction->commit();
}

Result<void> guarded(SqliteConnection& connection, const Job& job,
                     const std::function<Result<void>(SqliteTransaction&)>& body) {
  Result<SqliteTransaction> transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto ok = transaction->guard(job); !ok) return ok;
  return transaction->end_after(body(*transaction));
}

Result<void> guarded(SqliteConnection& connection, std::string_view lock, Fence fence,
                     const std::function<Result<void>(SqliteTransaction&)>& body) {
  Result<SqliteTransaction> transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto ok = transaction->guard_lock(lock, fence); !ok) return ok;
  return transaction->end_after(body(*transaction));
}

}  // namespace fenceline
