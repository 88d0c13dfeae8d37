// Your own tables in the store's SQLite file, written under the fence of a job or a lock: your statements, the check of
// the fence, the record of an effect, the job's outcome and new jobs are one commit, or nothing is (E3).
// docs/tables-sqlite.md shows how.
//
//   auto connection = client->connect();
//   if (!connection) return fenceline::RunResult::failed(connection.error().message);
//   const auto pay = [&](fenceline::SqliteTransaction& transaction) -> fenceline::Result<void> {
//     auto paid = transaction.execute("UPDATE account SET cents = cents - ?1 WHERE id = ?2", {500, "ana"});
//     if (!paid) return std::unexpected(paid.error());
//     auto mail = transaction.enqueue("mails", R"({"to": "ana"})");
//     if (!mail) return std::unexpected(mail.error());
//     return transaction.settle(run.job, {.result = "paid"});
//   };
//   const auto done = fenceline::guarded(*connection, run.job, pay);
//   if (!done) return fenceline::RunResult::failed(done.error().message);   // lost: someone else has the job now
//
// Every call returns a Result: check it before you continue. A transaction that goes away without a commit has
// changed nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/effect_once.hpp"
#include "fenceline/enqueue_options.hpp"
#include "fenceline/fence.hpp"
#include "fenceline/job.hpp"
#include "fenceline/result.hpp"
#include "fenceline/sql_value.hpp"
#include "fenceline/time.hpp"

struct sqlite3;

namespace fenceline {

struct SqliteConnectOptions {
  std::string ns = "default";  // whose jobs and locks its transactions guard, and where they settle and enqueue
};

// A table of yours that takes no write under an older fence. See SqliteConnection::protect_table.
struct ProtectedTable {
  std::string table;
  std::string fence_column = "fence";  // an INTEGER column: the fence under which the row was last written
  std::string resource_column =
      "";  // a TEXT column: whose row it is, such as a job's id; empty: each row is on its own
};

struct SqliteConnectionParts;
class SqliteConnection;

// All writers of the file wait while one of these is open: be short, and do not wait for anything in it, not for a call
// to the store either (that one would wait for this transaction). A process that is stopped meanwhile stops every
// writer; they answer `unavailable` at their deadline, with its pid. One thread at a time.
class SqliteTransaction {
 public:
  SqliteTransaction(SqliteTransaction&&) noexcept = default;
  SqliteTransaction& operator=(SqliteTransaction&& other) noexcept;
  ~SqliteTransaction();  // rolls back what was not committed

  // For SQLite's own functions, as SqliteConnection::handle().
  sqlite3* handle() const;

  // One statement, its parameters ?1, ?2 and so on. How many rows it changed. A statement that fails has changed
  // nothing, and the transaction goes on. Errors: lost (a protected table refused it), conflict (a constraint), refused
  // (see SqliteConnection), invalid, full, broken.
  Result<std::int64_t> execute(std::string_view sql, std::initializer_list<SqlValue> values = {});

  // Ok if this is the newest fence of the job; it stays so until the end of the transaction, which no claim can
  // overtake. Needs no live lease: work that is finished is not thrown away if nobody took over. Errors: lost (the
  // message has the newest fence), not_found, invalid.
  Result<void> guard(const JobId& job, Fence fence);
  Result<void> guard(const Job& job) { return guard(job.id, job.fence); }
  // The same for a lock of this namespace. `resource` is its name, or "name#3" for one of several holders. No takeover
  // and no break comes between this and the commit. Errors: lost, not_found (nothing is known of it: never held, or
  // free for long), invalid.
  Result<void> guard_lock(std::string_view resource, Fence fence);

  // From now on statements on protected tables run under this fence. `resource` is the text in the resource column: if
  // it is the id of a job of this namespace, this is guard(); if it is a lock that the store knows, guard_lock(); of
  // any other resource the largest fence is remembered, and a smaller one is `lost`. For tables without a resource
  // column the last call counts. Errors: as guard.
  Result<void> act_as(std::string_view resource, Fence fence);
  Result<void> act_as(const Job& job) { return act_as(to_string(job.id), job.fence); }

  // Records the effect as done, in this commit: it happens once, and no doubt about it is possible. If it was done
  // before, it says so. Errors: lost, not_found, conflict (the name was used for another digest, or is begun outside a
  // transaction), invalid.
  Result<EffectOnceReply> effect_done(const JobId& job, Fence fence, const EffectOnce& effect);
  Result<EffectOnceReply> effect_done(const Job& job, const EffectOnce& effect) {
    return effect_done(job.id, job.fence, effect);
  }

  // The job's outcome. A handler that then returns the same kind of outcome has only repeated it. An item of a pipeline
  // can only be put off here (later, given_back): record its work with effect_done, commit, and return the outcome from
  // the handler, whose worker moves it by the pipeline's rules (P1). Errors: lost, not_found, invalid, refused (done,
  // failed or dead, of an item).
  Result<void> settle(const JobId& job, Fence fence, const Outcome& outcome);
  Result<void> settle(const Job& job, const Outcome& outcome) { return settle(job.id, job.fence, outcome); }

  // Adds jobs that are there once the transaction is committed; workers are woken then. Errors: as Client::enqueue.
  Result<JobId> enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options = {});
  Result<std::vector<JobId>> enqueue_many(std::string_view queue, const std::vector<std::string>& payloads,
                                          const EnqueueOptions& options = {});

  // Whatever the answer, the transaction is over. Errors: conflict (a deferred constraint), full, unavailable, refused:
  // nothing of it happened; in_doubt, broken: it may have.
  Result<void> commit();
  void rollback();

 private:
  friend class SqliteConnection;
  friend Result<void> guarded(SqliteConnection& connection, const Job& job,
                              const std::function<Result<void>(SqliteTransaction&)>& body);
  friend Result<void> guarded(SqliteConnection& connection, std::string_view lock, Fence fence,
                              const std::function<Result<void>(SqliteTransaction&)>& body);
  explicit SqliteTransaction(std::shared_ptr<SqliteConnectionParts> parts) : parts_(std::move(parts)) {}
  Result<void> check_open() const;
  // Commits, unless the body failed or ended the transaction itself.
  Result<void> end_after(const Result<void>& body);

  std::shared_ptr<SqliteConnectionParts> parts_;
  std::optional<Result<void>> ended_;  // what commit() answered
};

// One connection, for one thread at a time; it must not cross a fork and goes before its store. What SQL may do on it:
// - read everything, always;
// - write and create tables of yours in a transaction that begin() opened, never outside one, and not end that by
// itself;
// - write no table of the store's, attach no other file, change no setting that the store relies on, drop no protected
// table. Names that begin with `fenceline_` are the store's. What is refused fails with SQLITE_AUTH, or at its commit;
// refusal() says why.
class SqliteConnection {
 public:
  SqliteConnection(SqliteConnection&&) noexcept = default;
  SqliteConnection& operator=(SqliteConnection&&) noexcept = default;
  ~SqliteConnection() = default;

  // For SQLite's own functions; statements that you prepare may be kept as long as the connection. Do not close it, nor
  // set its authorizer, commit hook or WAL hook, nor checkpoint.
  sqlite3* handle() const;

  // Waits for the writers' turn, at most `timeout`. One transaction at a time. Errors: unavailable (the message has the
  // pid of who is in the way), refused (one is open, or this is another process after a fork), broken.
  Result<SqliteTransaction> begin(Duration timeout = kCallTimeout);

  // From now on every row of the table has the fence under which it was last written, and no statement changes it under
  // a smaller one; equal is accepted. A statement's fence is what it assigns to the fence column, or that of act_as();
  // an UPDATE or an INSERT that does neither is refused, and so is a DELETE outside act_as(). Where the resource column
  // has the id of a job, or a lock, its newest grant counts: a holder that was paused and taken over is refused from
  // that moment. Everyone else is refused, whatever it writes: other programs and connections that are not from here.
  // Protecting a table again changes its columns' names. Errors: not_found (no such table or column), refused (a table
  // of the store's, a view, a virtual table), and those of begin().
  Result<void> protect_table(const ProtectedTable& table, Duration timeout = kCallTimeout);
  // Undoes it. Not protected: ok.
  Result<void> unprotect_table(const std::string& table, Duration timeout = kCallTimeout);

  // Why the last statement that was refused was, in one line.
  std::string refusal() const;

 private:
  friend class SqliteStore;
  explicit SqliteConnection(std::shared_ptr<SqliteConnectionParts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<SqliteConnectionParts> parts_;
};

// A transaction of a handler: begin, guard, `body`, commit. An error of the body rolls back and is returned. A body may
// commit by itself, as its last step: its commit is the answer then. Errors: in_doubt also for a body that committed
// and then failed.
Result<void> guarded(SqliteConnection& connection, const Job& job,
                     const std::function<Result<void>(SqliteTransaction&)>& body);
// The same under a lock.
Result<void> guarded(SqliteConnection& connection, std::string_view lock, Fence fence,
                     const std::function<Result<void>(SqliteTransaction&)>& body);

}  // namespace fenceline
