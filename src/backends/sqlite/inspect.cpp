// What people ask: jobs one by one and in lists, and the trail.
#include <algorithm>
#include <limits>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

// Numbers of jobs after a cursor, row by row, in the order of enqueue; ?3 is a queue's name, or empty for all.
constexpr const char* kListRunning = R"sql(
  SELECT r.seq, r.more FROM run r CROSS JOIN claim c ON c.id = r.claim_id CROSS JOIN queue q ON q.id = c.queue_id
  WHERE r.seq >= coalesce((SELECT max(seq) FROM run WHERE seq <= ?2), 0) AND r.seq + r.more > ?2 AND q.ns_id = ?1
    AND (?3 = '' OR q.name = ?3)
  ORDER BY r.seq LIMIT ?4)sql";
constexpr const char* kListDone = R"sql(
  SELECT d.seq, d.more FROM done d CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE d.state = 3 AND d.seq >= coalesce((SELECT max(seq) FROM done WHERE seq <= ?2), 0) AND d.seq + d.more > ?2
    AND q.ns_id = ?1
    AND (?3 = '' OR q.name = ?3) ORDER BY d.seq LIMIT ?4)sql";
constexpr const char* kListWaiting = R"sql(
  SELECT w.seq, 0 FROM waiting w CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= w.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE w.seq > ?2 AND q.ns_id = ?1 AND (?3 = '' OR q.name = ?3) ORDER BY w.seq LIMIT ?4)sql";
constexpr const char* kFinishedBadly = R"sql(
  SELECT d.seq, 0 FROM done d CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
  WHERE d.state = ?5 AND d.state > 3 AND j.ns_id = ?1 AND d.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3)) ORDER BY d.seq LIMIT ?4)sql";

// ?5 is the tag, ?6 a state or -1. A job with a tag has rows of its own.
constexpr const char* kTagged = R"sql(
  SELECT t.seq, 0 FROM tag t CROSS JOIN job j ON j.seq = t.seq WHERE t.ns_id = ?1 AND t.name = ?5 AND t.seq > ?2
    AND (?3 = '' OR j.queue_id IN (SELECT id FROM queue WHERE ns_id = ?1 AND name = ?3))
    AND (?6 < 0 OR ?6 = coalesce((SELECT d.state FROM done d WHERE d.seq = t.seq),
      (SELECT 1 FROM run r WHERE r.seq = t.seq),
                             (SELECT 2 FROM waiting w WHERE w.seq = t.seq), 0))
  ORDER BY t.seq LIMIT ?4)sql";

// Of the rows of ready jobs those of one queue, or of all, whatever their number: they are not kept in the order of
// enqueue.
constexpr const char* kReady = R"sql(
  SELECT r.seq, r.more FROM queue q CROSS JOIN ready r ON r.queue_id = q.id WHERE q.ns_id = ?1
    AND (?3 = '' OR q.name = ?3) AND r.seq + r.more > ?2 ORDER BY r.seq LIMIT ?4)sql";

constexpr const char* kEnter =
    "INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kTrail = R"sql(
  SELECT at, ns, actor, act, subject, reason FROM
    (SELECT * FROM trail WHERE ns IN ('', ?1) ORDER BY n DESC LIMIT ?2) ORDER BY n)sql";

// Jobs of these rows behind a cursor, so many of them.
void add_jobs(Rows&& rows, std::int64_t after, std::size_t most, std::vector<std::int64_t>& seqs) {
  while (rows.next()) {
    const std::int64_t last = rows.integer(0) + rows.integer(1);
    for (std::int64_t seq = std::max(rows.integer(0), after + 1); seq <= last && seqs.size() < most; ++seq)
      seqs.push_back(seq);
  }
}

// Of all jobs, or of the ready ones. These are soon found where most are ready; where many others come first, the ready
// ones themselves are looked through.
std::vector<std::int64_t> list_jobs_or_ready(Call& call, const JobsRequest& request, std::int64_t ns_id,
                                             std::int64_t after, std::size_t most) {
  constexpr std::size_t kRowsAtOnce = 1000;
  constexpr int kStepsMost = 5;
  std::vector<std::int64_t> seqs;
  for (int step = 0; seqs.size() < most; ++step) {
    if (request.state && step == kStepsMost) {
      add_jobs(call.db.query(kReady, ns_id, after, request.queue.value_or(""),
                             static_cast<std::int64_t>(most - seqs.size())),
               after, most, seqs);
      break;
    }
    const std::vector<JobsOfRow> rows = job_rows(call, after, std::numeric_limits<std::int64_t>::max(), kRowsAtOnce);
    if (rows.empty()) break;
    after = rows.back().numbers.last;
    for (const JobsOfRow& row : rows) {
      if (row.ns_id != ns_id || (request.queue && call.names.queue_name(row.queue_id).queue != *request.queue))
        continue;
      if (request.state) {
        for (const std::int64_t seq : ready_among(call, row.numbers, most - seqs.size())) seqs.push_back(seq);
      } else {
        for (std::int64_t seq = row.numbers.first; seq <= row.numbers.last && seqs.size() < most; ++seq)
          seqs.push_back(seq);
      }
      if (seqs.size() == most) break;
    }
  }
  return seqs;
}

std::vector<std::int64_t> list_numbers(Call& call, const JobsRequest& request, std::int64_t ns_id) {
  const std::int64_t first = call.db.number("SELECT first_seq FROM namespace WHERE id = ?1", ns_id).value_or(0);
  if (first == 0) return {};
  const std::int64_t after = std::max(request.after, first - 1);
  // One more than asked for tells whether there is a next page.
  const int most = request.limit + 1;
  std::vector<std::int64_t> seqs;
  const auto read = [&](Rows rows) { add_jobs(std::move(rows), after, static_cast<std::size_t>(most), seqs); };
  const std::string queue = request.queue.value_or("");
  const int state = request.state ? static_cast<int>(*request.state) : -1;
  if (!request.tag.empty()) read(call.db.query(kTagged, ns_id, after, queue, most, request.tag, state));
  else if (!request.state || request.state == JobState::ready)
    return list_jobs_or_ready(call, request, ns_id, after, static_cast<std::size_t>(most));
  else if (request.state == JobState::running) read(call.db.query(kListRunning, ns_id, after, queue, most));
  else if (request.state == JobState::waiting) read(call.db.query(kListWaiting, ns_id, after, queue, most));
  else if (request.state == JobState::done) read(call.db.query(kListDone, ns_id, after, queue, most));
  else read(call.db.query(kFinishedBadly, ns_id, after, queue, most, state));
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
  for (const std::int64_t seq : seqs)
    reply.jobs.push_back(to_job(call, find_delivery(call, seq), request.with_payload));
  return reply;
}

Result<std::vector<JobId>> list_ids(Call& call, const IdsRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return std::vector<JobId>{};
  const auto most = static_cast<std::size_t>(request.limit);
  if (request.suffix.empty()) return ids_between(call, *ns_id, request.first, request.last, most);
  std::vector<JobId> found = newest_ids_ending(call, *ns_id, request.suffix);
  std::erase_if(found, [&](const JobId& id) { return id < request.first || request.last < id; });
  if (found.size() > most) found.resize(most);
  return found;
}

Result<std::vector<TrailEntry>> trail(Call& call, const std::string& ns, int limit) {
  std::vector<TrailEntry> entries;
  auto rows = call.db.query(kTrail, ns, limit);
  while (rows.next())
    entries.push_back(
        {WallTime{Duration{rows.integer(0)}}, rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)});
  return entries;
}

Result<std::vector<std::string>> namespaces(Call& call) {
  std::vector<std::string> names;
  auto rows = call.db.query("SELECT name FROM namespace ORDER BY name LIMIT ?1", kNamespacesShown);
  while (rows.next()) names.push_back(rows.text(0));
  return names;
}

void enter_in_trail(Call& call, const std::string& ns, const Act& act, const std::string& what,
                    const std::string& subject) {
  call.db.execute(kEnter, ns, call.wall_us(), act.actor, what, subject, act.reason);
}

}  // namespace fenceline::sqlite
