// Your own tables in the store's PostgreSQL database, written under the fence of a job or a lock: your statements, the
// check of the fence, the record of an effect, the job's outcome and new jobs are one commit, or nothing is (E3). For a
// libpq connection of yours; docs/sql.md shows the same for every other language, fenceline/sqlite.hpp for SQLite.
//
//   const auto pay = [&](fenceline::PostgresTransaction& transaction) -> fenceline::Result<void> {
//     auto paid = transaction.execute("UPDATE account SET cents = cents - $1 WHERE name = $2", {500, "ana"});
//     if (!paid) return std::unexpected(paid.error());
//     auto mail = transaction.enqueue("mails", R"({"to": "ana"})");
//     if (!mail) return std::unexpected(mail.error());
//     return transaction.settle(run.job, {.result = "paid"});
//   };
//   const auto done = fenceline::guarded(connection, run.job, pay);
//   if (!done) return fenceline::RunResult::failed(done.error().message);   // lost: someone else has the job now
//
// Changes of jobs are recorded, and happen at COMMIT: until then no lock is held on a job, so a transaction that is
// paused stops no takeover. It then fails at COMMIT. After an error the transaction is over, as after every error on
// PostgreSQL: roll it back.
//
// Every call answers with a Result. Errors of all: invalid, denied (no rights), refused (the transaction is over or has
// failed), full (the server's disk), unavailable (not reached, or 40001: begin again), broken. A server that does not
// know these functions is not_found.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
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

struct pg_conn;    // PGconn
struct pg_result;  // PGresult

namespace fenceline {

struct PostgresPlace {
  std::string ns = "default";  // whose jobs and locks its transactions guard, and where they settle and enqueue
  std::string schema = "fenceline";
};

// A transaction on a connection of yours, which must outlive it. Your own statements may also go to the connection
// directly. One thread at a time.
class PostgresTransaction {
 public:
  // BEGIN. Errors: invalid (no connection), refused (a transaction is open), unavailable.
  static Result<PostgresTransaction> begin(pg_conn* connection, PostgresPlace place = {});
  // Takes over a transaction that you began, at any isolation level. Errors: invalid, refused (none is open).
  static Result<PostgresTransaction> adopt(pg_conn* connection, PostgresPlace place = {});
  PostgresTransaction(PostgresTransaction&& other) noexcept;
  PostgresTransaction& operator=(PostgresTransaction&& other) noexcept;
  ~PostgresTransaction();  // rolls back what was not committed

  // For libpq's own functions; null once it is over.
  pg_conn* handle() const { return connection_; }
  // Leaves the transaction open for you to end, and answers its connection: for a framework that commits by itself.
  pg_conn* release();

  // One statement, its parameters $1, $2 and so on, sent as text. How many rows it changed or gave. Errors: lost (a
  // stale fence at a protected table), conflict (a constraint), refused (BEGIN, COMMIT, ROLLBACK and their like;
  // savepoints are fine).
  Result<std::int64_t> execute(std::string_view sql, std::initializer_list<SqlValue> values = {});

  // Ok if this is the newest fence of the job, which is looked at again at COMMIT. Needs no live lease: work that is
  // finished is not thrown away if nobody took over. For a job that the store does not know the largest fence is
  // remembered. Errors: lost.
  Result<void> guard(const JobId& job, Fence fence);
  Result<void> guard(const Job& job) { return guard(job.id, job.fence); }
  // The same for a lock of this namespace. `resource` is its name, or "name#3" for one of several holders.
  Result<void> guard_lock(std::string_view resource, Fence fence);

  // Statements on protected tables (docs/tables-postgresql.md) write rows of this resource under this fence from now
  // on. Errors: lost.
  Result<void> act_as(std::string_view resource, Fence fence);
  Result<void> act_as(const Job& job) { return act_as(to_string(job.id), job.fence); }

  // Records the effect as done, in this commit: it happens once, and no doubt about it is possible. If it was done
  // before, it says so. Errors: lost, not_found, conflict (the name was used for another digest, or is begun outside a
  // transaction).
  Result<EffectOnceReply> effect_done(const JobId& job, Fence fence, const EffectOnce& effect);
  Result<EffectOnceReply> effect_done(const Job& job, const EffectOnce& effect) {
    return effect_done(job.id, job.fence, effect);
  }

  // The job's outcome. A handler that then returns the same kind of outcome has only repeated it. Errors: lost,
  // not_found, conflict (it was committed before, perhaps by a COMMIT of yours whose answer was lost: the work is done,
  // roll this one back; COMMIT may say so too).
  Result<void> settle(const JobId& job, Fence fence, const Outcome& outcome);
  Result<void> settle(const Job& job, const Outcome& outcome) { return settle(job.id, job.fence, outcome); }

  // Adds jobs that are there once the transaction is committed; workers are woken then. The id is the job's own, or
  // that of the job that has its key now; if that one ends before the COMMIT, the new job is added under an id of its
  // own. Errors: conflict (the key is taken by a job with another payload; COMMIT may say so too).
  Result<JobId> enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options = {});
  Result<std::vector<JobId>> enqueue_many(std::string_view queue, const std::vector<std::string>& payloads,
                                          const EnqueueOptions& options = {});

  // Whatever the answer, the transaction is over. Errors: lost (a fence was stale: nothing happened), conflict, refused
  // (it had failed before; a guard), unavailable (40001, a deadlock: nothing happened, begin again), in_doubt (the
  // answer was lost, or a statement that you sent to the connection itself ended the transaction).
  Result<void> commit();
  void rollback();

 private:
  friend Result<void> guarded(pg_conn* connection, std::string_view lock, Fence fence,
                              const std::function<Result<void>(PostgresTransaction&)>& body,
                              const PostgresPlace& place);
  PostgresTransaction(pg_conn* connection, PostgresPlace place) : connection_(connection), place_(std::move(place)) {}
  // Commits, unless the body failed or ended the transaction itself.
  Result<void> end_after(const Result<void>& body);

  pg_conn* connection_;  // null: it is over
  PostgresPlace place_;
  std::optional<Result<void>> ended_;  // what commit() answered; in_doubt once it is released
};

// A transaction of a handler: begin, guard, `body`, commit. An error of the body rolls back and is returned. A body may
// commit by itself, as its last step: its commit is the answer then. Errors: in_doubt also for a body that committed,
// or ended the transaction by a statement, and then failed.
Result<void> guarded(pg_conn* connection, const Job& job, const std::function<Result<void>(PostgresTransaction&)>& body,
                     const PostgresPlace& place = {});
// The same under a lock.
Result<void> guarded(pg_conn* connection, std::string_view lock, Fence fence,
                     const std::function<Result<void>(PostgresTransaction&)>& body, const PostgresPlace& place = {});

// What a result of libpq says, in our words, such as `lost` for a stale fence in a statement on a protected table. The
// result is cleared.
Result<void> answer_of(pg_result* result);

}  // namespace fenceline
