// What people ask: jobs one by one and in lists, and the trail.
#include <algorithm>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

// Numbers of jobs after a cursor, in the order of enqueue; ?3 is a queue's name, or empty for all. Not by the index of
// ids: that would sort the whole namespace for a page.
constexpr const char* kAll = R"sql(
  SELECT j.seq FROM job j NOT INDEXED WHERE j.ns_id = ?1 AND j.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY j.seq LIMIT ?4)sql";
constexpr const char* kReady = R"sql(
  SELECT j.seq FROM job j NOT INDEXED WHERE j.ns_id = ?1 AND j.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3))
    AND NOT EXISTS (SELECT 1 FROM done d WHERE d.seq = (SELECT max(seq) FROM done WHERE seq <= j.seq) AND d.seq + d.more >= j.seq)
    AND NOT EXISTS (SELECT 1 FROM run r WHERE r.seq = (SELECT max(seq) FROM run WHERE seq <= j.seq) AND r.seq + r.more >= j.seq)
  ORDER BY j.seq LIMIT ?4)sql";
constexpr const char* kRunning = R"sql(
  SELECT j.seq FROM run r CROSS JOIN job j NOT INDEXED ON j.seq BETWEEN r.seq AND r.seq + r.more
  WHERE j.ns_id = ?1 AND r.seq >= coalesce((SELECT max(seq) FROM run WHERE seq <= ?2), 0) AND j.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY r.seq, j.seq LIMIT ?4)sql";
constexpr const char* kDone = R"sql(
  SELECT j.seq FROM done d CROSS JOIN job j NOT INDEXED ON j.seq BETWEEN d.seq AND d.seq + d.more
  WHERE d.state = 3 AND j.ns_id = ?1 AND d.seq >= coalesce((SELECT max(seq) FROM done WHERE seq <= ?2), 0) AND j.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY d.seq, j.seq LIMIT ?4)sql";
constexpr const char* kFinishedBadly = R"sql(
  SELECT j.seq FROM done d CROSS JOIN job j ON j.seq = d.seq WHERE d.state = ?5 AND d.state > 3 AND j.ns_id = ?1 AND d.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY d.seq LIMIT ?4)sql";

// ?5 is the tag, ?6 a state or -1. A job with a tag has rows of its own.
constexpr const char* kTagged = R"sql(
  SELECT t.seq FROM tag t CROSS JOIN job j ON j.seq = t.seq WHERE t.ns_id = ?1 AND t.name = ?5 AND t.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3))
    AND (?6 < 0 OR ?6 = coalesce((SELECT d.state FROM done d WHERE d.seq = t.seq), (SELECT 1 FROM run r WHERE r.seq = t.seq), 0))
  ORDER BY t.seq LIMIT ?4)sql";

constexpr const char* kIds = "SELECT id FROM job WHERE ns_id = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id LIMIT ?4";

constexpr const char* kEnter = "INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kTrail = R"sql(
  SELECT at, ns, actor, act, subject, reason FROM
    (SELECT * FROM trail WHERE ns IN ('', ?1) ORDER BY n DESC LIMIT ?2) ORDER BY n)sql";

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
  const int state = request.state ? static_cast<int>(*request.state) : -1;
  if (!request.tag.empty()) read(call.db.query(kTagged, ns_id, after, queue, request.limit + 1, request.tag, state));
  else if (sql == kFinishedBadly) read(call.db.query(sql, ns_id, after, queue, request.limit + 1, state));
  else read(call.db.query(sql, ns_id, after, queue, request.limit + 1));
  return seqs;
}

}  // namespace

Result<std::optional<Job>> find_job(Call& call, const std::string& ns, const JobId& id) {
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return std::nullopt;
  const auto seq = find_seq(call, *ns_id, id);
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

Result<std::vector<JobId>> list_ids(Call& call, const IdsRequest& request) {
  std::vector<JobId> ids;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return ids;
  auto rows = call.db.query(kIds, *ns_id, Bytes{as_bytes(request.first)}, Bytes{as_bytes(request.last)}, request.limit);
  while (rows.next()) ids.push_back(as_id(rows.bytes(0)));
  return ids;
}

Result<std::vector<TrailEntry>> trail(Call& call, const std::string& ns, int limit) {
  std::vector<TrailEntry> entries;
  auto rows = call.db.query(kTrail, ns, limit);
  while (rows.next())
    entries.push_back({WallTime{Duration{rows.integer(0)}}, rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)});
  return entries;
}

void enter_in_trail(Call& call, const std::string& ns, const Act& act, const std::string& what, const std::string& subject) {
  call.db.execute(kEnter, ns, call.wall_us(), act.actor, what, subject, act.reason);
}

}  // namespace fenceline::sqlite
