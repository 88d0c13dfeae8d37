// What people and draining workers ask: jobs, backlog, workers, the trail; and what operators remove.
#include <algorithm>
#include <cstring>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindJob = "SELECT seq FROM job WHERE ns_id = ?1 AND id = ?2";

// Numbers of jobs after a cursor, in the order of enqueue; ?3 is a queue's name, or empty for all. Not by the index of
// ids: that would sort the whole namespace for a page.
constexpr const char* kAll = R"sql(
  SELECT j.seq FROM job j NOT INDEXED WHERE j.ns_id = ?1 AND j.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY j.seq LIMIT ?4)sql";
constexpr const char* kReady = R"sql(
  SELECT j.seq FROM job j NOT INDEXED WHERE j.ns_id = ?1 AND j.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3))
    AND NOT EXISTS (SELECT 1 FROM done d WHERE d.seq = j.seq) AND NOT EXISTS (SELECT 1 FROM run r WHERE r.seq = j.seq)
  ORDER BY j.seq LIMIT ?4)sql";
constexpr const char* kRunning = R"sql(
  SELECT j.seq FROM run r CROSS JOIN job j ON j.seq = r.seq WHERE j.ns_id = ?1 AND r.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY r.seq LIMIT ?4)sql";
constexpr const char* kDone = R"sql(
  SELECT j.seq FROM done d CROSS JOIN job j ON j.seq = d.seq WHERE d.state = 3 AND j.ns_id = ?1 AND d.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY d.seq LIMIT ?4)sql";
constexpr const char* kFinishedBadly = R"sql(
  SELECT j.seq FROM done d CROSS JOIN job j ON j.seq = d.seq WHERE d.state = ?5 AND d.state > 3 AND j.ns_id = ?1 AND d.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY d.seq LIMIT ?4)sql";

constexpr const char* kReportWorker = R"sql(
  INSERT INTO worker (ns_id, owner, started_at, seen_at, host, pid, version, queues, stage, concurrency, ttl, holding)
  VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
  ON CONFLICT (ns_id, owner) DO UPDATE SET seen_at = excluded.seen_at, host = excluded.host, pid = excluded.pid, version = excluded.version,
    queues = excluded.queues, stage = excluded.stage, concurrency = excluded.concurrency, ttl = excluded.ttl, holding = excluded.holding)sql";
constexpr const char* kForgetWorkers = "DELETE FROM worker WHERE ns_id = ?1 AND seen_at <= ?2";
constexpr const char* kWorkers = R"sql(
  SELECT owner, started_at, seen_at, host, pid, version, queues, stage, concurrency, ttl, holding FROM worker WHERE ns_id = ?1
  ORDER BY started_at, owner)sql";

constexpr const char* kTrail = R"sql(
  SELECT at, ns, actor, act, subject, reason FROM
    (SELECT * FROM trail WHERE ns IN ('', ?1) ORDER BY n DESC LIMIT ?2) ORDER BY n)sql";

constexpr const char* kLargestFence = R"sql(
  SELECT max(coalesce((SELECT max(fence) FROM ready WHERE queue_id IN (SELECT id FROM queue WHERE ns_id = ?1)), 0),
             coalesce((SELECT max(fence) FROM run WHERE seq IN (SELECT seq FROM job WHERE ns_id = ?1)), 0),
             coalesce((SELECT max(fence) FROM done WHERE seq IN (SELECT seq FROM job WHERE ns_id = ?1)), 0)))sql";

// Sixteen bytes of the id, eight of the fence.
std::string pack_holdings(const std::vector<Holding>& holdings) {
  std::string bytes;
  for (const Holding& holding : holdings) {
    bytes += as_bytes(holding.id);
    bytes += pack({holding.fence});
  }
  return bytes;
}

std::vector<Holding> unpack_holdings(std::string_view bytes) {
  constexpr std::size_t kIdBytes = 16;
  constexpr std::size_t kBytes = kIdBytes + sizeof(Fence);
  std::vector<Holding> holdings(bytes.size() / kBytes);
  for (std::size_t i = 0; i < holdings.size(); ++i) {
    std::memcpy(holdings[i].id.bytes.data(), bytes.data() + i * kBytes, kIdBytes);
    std::memcpy(&holdings[i].fence, bytes.data() + i * kBytes + kIdBytes, sizeof(Fence));
  }
  return holdings;
}

// Names have no newline.
std::string join(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += joined.empty() ? name : '\n' + name;
  return joined;
}

std::vector<std::string> split(std::string_view joined) {
  std::vector<std::string> names;
  while (!joined.empty()) {
    const std::size_t end = joined.find('\n');
    names.emplace_back(joined.substr(0, end));
    joined = end == std::string_view::npos ? std::string_view() : joined.substr(end + 1);
  }
  return names;
}

const char* listing(std::optional<JobState> state) {
  if (!state) return kAll;
  switch (*state) {
    case JobState::ready: return kReady;
    case JobState::running: return kRunning;
    case JobState::done: return kDone;
    case JobState::waiting:
    case JobState::dead:
    case JobState::cancelled: return kFinishedBadly;
  }
  return kAll;
}

std::vector<std::int64_t> list_numbers(Call& call, const JobsRequest& request, std::int64_t ns_id) {
  const char* sql = listing(request.state);
  std::vector<std::int64_t> seqs;
  const auto read = [&](Rows rows) {
    while (rows.next()) seqs.push_back(rows.integer(0));
  };
  const std::string queue = request.queue.value_or("");
  const std::int64_t first = call.db.number("SELECT first_seq FROM namespace WHERE id = ?1", ns_id).value_or(0);
  if (first == 0) return seqs;
  const std::int64_t after = std::max(request.after, first - 1);
  // One more than asked for tells whether there is a next page.
  if (sql == kFinishedBadly) read(call.db.query(sql, ns_id, after, queue, request.limit + 1, static_cast<int>(*request.state)));
  else read(call.db.query(sql, ns_id, after, queue, request.limit + 1));
  return seqs;
}

}  // namespace

Result<std::optional<Job>> find_job(Call& call, const std::string& ns, const JobId& id) {
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return std::nullopt;
  const auto seq = call.db.number(kFindJob, *ns_id, Bytes{as_bytes(id)});
  if (!seq) return std::nullopt;
  return to_job(call, find_delivery(call, *seq), true);
}

Result<JobsReply> list_jobs(Call& call, const JobsRequest& request) {
  JobsReply reply;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  std::vector<std::int64_t> seqs = list_numbers(call, request, *ns_id);
  if (seqs.size() > static_cast<std::size_t>(request.limit)) {
    seqs.pop_back();
    reply.next = seqs.back();
  }
  for (const std::int64_t seq : seqs) reply.jobs.push_back(to_job(call, find_delivery(call, seq), request.with_payload));
  return reply;
}

Result<BacklogReply> backlog(Call& call, const BacklogRequest& request) {
  constexpr std::int64_t kCountedMost = 100'000;
  BacklogReply reply;
  const std::vector<std::int64_t> queues = known_queues(call, request.ns, request.queues, request.stage);
  const LeaseCensus census = take_census(call, queues);
  reply.running = census.alive;
  reply.claimable = census.run_out || some_due(call, queues, kCommonLane) || some_due(call, queues, kAloneLane);
  reply.ahead = count_ahead(call, queues, kCountedMost);
  reply.next_due = next_run(call, queues);
  return reply;
}

Result<void> report_worker(Call& call, const WorkerReport& report) {
  const std::int64_t ns_id = call.names.intern_namespace(report.ns);
  call.db.execute(kForgetWorkers, ns_id, call.wall_us() - kWorkerForgottenAfter.count());
  call.db.execute(kReportWorker, ns_id, report.owner, call.wall_us(), report.host, report.pid, report.version, join(report.queues),
                  report.stage, report.concurrency, report.ttl.count(), Bytes{pack_holdings(report.holding)});
  return {};
}

Result<void> remove_worker(Call& call, const std::string& ns, const std::string& owner) {
  if (const auto ns_id = call.names.find_namespace(ns))
    call.db.execute("DELETE FROM worker WHERE ns_id = ?1 AND owner = ?2", *ns_id, owner);
  return {};
}

Result<std::vector<WorkerRow>> workers(Call& call, const std::string& ns) {
  std::vector<WorkerRow> workers;
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return workers;
  auto rows = call.db.query(kWorkers, *ns_id);
  while (rows.next()) {
    WorkerRow& worker = workers.emplace_back();
    worker.report.ns = ns;
    worker.report.owner = rows.text(0);
    worker.started_at = WallTime{Duration{rows.integer(1)}};
    worker.seen_at = WallTime{Duration{rows.integer(2)}};
    worker.report.host = rows.text(3);
    worker.report.pid = rows.integer(4);
    worker.report.version = rows.text(5);
    worker.report.queues = split(rows.bytes(6));
    worker.report.stage = rows.text(7);
    worker.report.concurrency = static_cast<int>(rows.integer(8));
    worker.report.ttl = Duration{rows.integer(9)};
    worker.report.holding = unpack_holdings(rows.bytes(10));
  }
  return workers;
}

Result<std::vector<TrailEntry>> trail(Call& call, const std::string& ns, int limit) {
  std::vector<TrailEntry> entries;
  auto rows = call.db.query(kTrail, ns, limit);
  while (rows.next())
    entries.push_back({WallTime{Duration{rows.integer(0)}}, rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)});
  return entries;
}

Result<void> remove_namespace(Call& call, const std::string& ns, const Act& act) {
  if (const auto ns_id = call.names.find_namespace(ns)) {
    const Fence largest = call.db.number(kLargestFence, *ns_id).value_or(0);
    call.db.execute("UPDATE meta SET value = max(value, ?1) WHERE key = 'floor'", largest);
    call.db.execute("UPDATE meta SET value = max(value, coalesce((SELECT max(seq) FROM job), 0)) WHERE key = 'seq_floor'");
    call.db.execute("DELETE FROM ready WHERE queue_id IN (SELECT id FROM queue WHERE ns_id = ?1)", *ns_id);
    call.db.execute("DELETE FROM run WHERE seq IN (SELECT seq FROM job WHERE ns_id = ?1)", *ns_id);
    call.db.execute("DELETE FROM done WHERE seq IN (SELECT seq FROM job WHERE ns_id = ?1)", *ns_id);
    call.db.execute("DELETE FROM claim WHERE ns_id = ?1", *ns_id);
    call.db.execute("DELETE FROM worker WHERE ns_id = ?1", *ns_id);
    call.db.execute("DELETE FROM job WHERE ns_id = ?1", *ns_id);
    call.db.execute("UPDATE namespace SET first_seq = 0 WHERE id = ?1", *ns_id);
  }
  call.db.execute("INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES (?1, ?2, ?3, 'namespace_removed', ?1, ?4)", ns,
                  call.wall_us(), act.actor, act.reason);
  return {};
}

}  // namespace fenceline::sqlite
