// Adding jobs. A first attempt is three statements for the whole batch; only when some id is there already are the
// jobs looked at one by one.
#include <vector>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kNextSeq = R"sql(
  SELECT 1 + max(coalesce((SELECT max(seq) FROM job), 0), (SELECT value FROM meta WHERE key = 'seq_floor')))sql";

// c0 id, c1 queue, c2 priority, c3 attempts, c4 run time, c5 payload
constexpr const char* kInsertJobs = R"sql(
  INSERT OR IGNORE INTO job (seq, ns_id, id, queue_id, priority, attempts_max, created_at, run_at, payload)
  SELECT ?1 + n, ?2, c0, c1, c2, c3, ?3, c4, c5 FROM batch)sql";

constexpr const char* kInsertReady = R"sql(
  INSERT INTO ready (queue_id, lane, rank, run_at, seq) SELECT c1, 0, -c2, c4, ?1 + n FROM batch)sql";

constexpr const char* kFirstSeq = "UPDATE namespace SET first_seq = ?2 WHERE id = ?1 AND first_seq = 0";

constexpr const char* kSameId = "SELECT queue_id, payload FROM job WHERE ns_id = ?1 AND id = ?2";

struct Added {
  const NewJob* job;
  std::int64_t queue_id;
};

// Returns how many went in: all, or fewer because some were there.
std::int64_t insert(Call& call, std::int64_t ns_id, const std::vector<Added>& added) {
  const std::int64_t first = call.db.number(kNextSeq).value_or(1);
  call.db.batch().show(added.size(), [&](std::size_t row, int column) {
    const NewJob& job = *added[row].job;
    switch (column) {
      case 0: return Value::blob(as_bytes(job.id));
      case 1: return Value::integer(added[row].queue_id);
      case 2: return Value::integer(job.priority);
      case 3: return Value::integer(job.attempts_max);
      case 4: return Value::integer(call.wall_us() + job.delay.count());
      default: return Value::text(job.payload);
    }
  });
  call.db.execute(kInsertJobs, first, ns_id, call.wall_us());
  const std::int64_t inserted = call.db.changes();
  if (inserted == static_cast<std::int64_t>(added.size())) {
    call.db.execute(kInsertReady, first);
    call.db.execute(kFirstSeq, ns_id, first);
    for (const Added& job : added) call.awakened.insert(job.queue_id);
  }
  return inserted;
}

}  // namespace

Result<EnqueueReply> enqueue(Call& call, const EnqueueRequest& request) {
  EnqueueReply reply;
  if (request.jobs.empty()) return reply;
  for (const NewJob& job : request.jobs) reply.ids.push_back(job.id);
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  std::vector<Added> wanted;
  wanted.reserve(request.jobs.size());
  for (const NewJob& job : request.jobs) {
    if (!wanted.empty() && wanted.back().job->queue == job.queue && wanted.back().job->stage == job.stage)
      wanted.push_back({&job, wanted.back().queue_id});
    else wanted.push_back({&job, call.names.intern_queue(ns_id, job.queue, job.stage)});
  }

  call.db.execute("SAVEPOINT attempt");
  const std::int64_t inserted = insert(call, ns_id, wanted);
  if (inserted == static_cast<std::int64_t>(wanted.size())) {
    call.db.execute("RELEASE attempt");
    return reply;
  }
  call.db.execute("ROLLBACK TO attempt");
  call.db.execute("RELEASE attempt");

  std::vector<Added> fresh;
  for (const Added& job : wanted) {
    auto there = call.db.query(kSameId, ns_id, Bytes{as_bytes(job.job->id)});
    if (!there.next()) {
      fresh.push_back(job);
    } else if (there.integer(0) != job.queue_id || there.bytes(1) != job.job->payload) {
      return fail(Code::conflict, "job " + to_string(job.job->id) + " is there already with another queue, stage or payload");
    } else {
      reply.existing += 1;
    }
  }
  if (!fresh.empty()) insert(call, ns_id, fresh);
  return reply;
}

}  // namespace fenceline::sqlite
