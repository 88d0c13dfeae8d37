// Jobs in your own transactions on PostgreSQL: your statements, a job's outcome, the record of an effect and new jobs
// are one commit, or nothing is (E3). For a libpq connection of yours to the store's database; docs/sql.md shows the
// same for every other language.
//
//   PQexec(connection, "BEGIN");
//   PQexec(connection, "UPDATE account SET cents = cents - 500 WHERE name = 'ana'");
//   fenceline::enqueue_in(connection, "mails", R"({"to": "ana"})");
//   fenceline::complete_in(connection, run.job.id, run.job.fence);       // lost: someone else has the job now
//   fenceline::commit_in(connection);                                    // and again here
//
// None of these but commit_in ends a transaction, and none begins one; outside of one, each is a transaction of its
// own. What they say is noted, and happens at COMMIT: until then no lock is held on a job, so a transaction that is
// paused stops no takeover. It then fails at COMMIT. After an error the transaction is over, as after every error on
// PostgreSQL: roll it back.
//
// Every call answers with a Result. Errors of all: invalid, refused (no rights, another transaction state), unavailable
// (not reached, or 40001: begin again), broken; outside of a transaction in_doubt (the answer was lost). A server that
// does not know these functions is not_found.
#pragma once

#include <string>
#include <string_view>

#include "fenceline/effect_once.hpp"
#include "fenceline/enqueue_options.hpp"
#include "fenceline/fence.hpp"
#include "fenceline/job.hpp"
#include "fenceline/result.hpp"

struct pg_conn;    // PGconn
struct pg_result;  // PGresult

namespace fenceline {

struct PostgresPlace {
  std::string ns = "default";
  std::string schema = "fenceline";
};

// A job that is there once the transaction is committed; workers are woken then. The id is its own, or that of the job
// that has its key now; if that one ends before the COMMIT, the new job is added all the same, under an id of its own.
// Errors: conflict (the key is taken by a job with another payload; COMMIT may say so too).
Result<JobId> enqueue_in(pg_conn* connection, std::string_view queue, std::string_view payload,
                         const EnqueueOptions& options = {}, const PostgresPlace& place = {});

// The job's outcome. A handler that then returns the same kind of outcome has only repeated it. An item of a pipeline
// can only be put off here (later, given_back): record its work with effect_done_in, commit, and return the outcome
// from the handler, whose worker moves it by the pipeline's rules (P1). Errors: lost, not_found, conflict (it was
// committed before, perhaps by a COMMIT of yours whose answer was lost: the work is done, roll this one back; COMMIT
// may say so too), refused (done, failed or dead, of an item; COMMIT says so too if the pipeline was applied since).
Result<void> settle_in(pg_conn* connection, const JobId& job, Fence fence, const Outcome& outcome,
                       const PostgresPlace& place = {});
Result<void> complete_in(pg_conn* connection, const JobId& job, Fence fence, std::string_view result = {},
                         const PostgresPlace& place = {});

// Records the effect as done, in this commit: it happens once, and no doubt about it is possible. If it was done
// before, it says so. Errors: lost, not_found, conflict (the name was used for another digest, or is begun outside a
// transaction).
Result<EffectOnceReply> effect_done_in(pg_conn* connection, const JobId& job, Fence fence, const EffectOnce& effect,
                                       const PostgresPlace& place = {});

// COMMIT, and what became of it: whatever the answer, the transaction is over. Errors: lost (a fence was stale: nothing
// happened), conflict, refused (it had failed before; a guard), unavailable (40001, a deadlock: nothing happened, begin
// again), in_doubt (the answer was lost).
Result<void> commit_in(pg_conn* connection);

// What a result of libpq says, in our words, such as `lost` for a stale fence in a statement on a protected table. The
// result is cleared.
Result<void> answer_of(pg_result* result);

}  // namespace fenceline
