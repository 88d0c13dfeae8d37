#include "backends/sqlite/delivery.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/sqlite/extras.hpp"
#include "backends/sqlite/past.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindRunning = R"sql(
  SELECT r.fence, r.run_at, r.deliveries, r.past, r.claim_id, r.lease_end, r.flags, r.limit_id, r.place, c.owner, c.queue_id, c.started_at
  FROM run r CROSS JOIN claim c ON c.id = r.claim_id WHERE r.seq = ?1)sql";

// c0 id. The number stands in the index of the id: the job's row is not read.
constexpr const char* kFindBatch = R"sql(
  SELECT b.n, j.seq, r.fence, r.run_at, r.deliveries, r.past, r.claim_id, r.lease_end, r.flags, r.limit_id
  FROM batch b CROSS JOIN job j ON j.ns_id = ?1 AND j.id = b.c0 LEFT JOIN run r ON r.seq = j.seq)sql";

// What the jobs of a claim share: asked for once, not with each of them.
constexpr const char* kFindClaim = "SELECT owner, queue_id, started_at FROM claim WHERE id = ?1";

constexpr const char* kFindFinished = R"sql(
  SELECT fence, run_at, deliveries, past, state, finished_at, started_at, owner, result FROM done WHERE seq = ?1)sql";

constexpr const char* kFindAgain = "SELECT fence, run_at, deliveries, past FROM ready WHERE seq = ?1 AND deliveries > 0";

constexpr const char* kFindFirst = "SELECT run_at FROM job WHERE seq = ?1";
constexpr const char* kFindSeq = "SELECT seq FROM job WHERE ns_id = ?1 AND id = ?2";
constexpr const char* kFindId = "SELECT id FROM job WHERE seq = ?1";

constexpr const char* kPutRunning = R"sql(
  INSERT OR REPLACE INTO run (seq, claim_id, place, fence, lease_end, run_at, deliveries, flags, limit_id, past)
  SELECT c0, c1, n, c2, c3, c4, c5, c6, c7, c8 FROM batch)sql";


// The same for first deliveries of plain jobs, as most are: what they share is said once. ?1 claim, ?2 fence, ?3 lease end
constexpr const char* kPutRunningAlike = R"sql(
  INSERT OR REPLACE INTO run (seq, claim_id, place, fence, lease_end, run_at, deliveries, flags)
  SELECT c0, ?1, n, ?2, ?3, c4, 1, 0 FROM batch)sql";

constexpr const char* kPutFinished = R"sql(
  INSERT INTO done (seq, state, finished_at, fence, run_at, deliveries, started_at, owner, past, result)
  SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM batch)sql";

// ?1 time of finish, ?2 fence, ?3 start, ?4 owner
constexpr const char* kPutDoneAlike = R"sql(
  INSERT INTO done (seq, state, finished_at, fence, run_at, deliveries, started_at, owner, result)
  SELECT c0, 3, ?1, ?2, c4, 1, ?3, ?4, c9 FROM batch)sql";

constexpr const char* kDropRange = "DELETE FROM run WHERE seq BETWEEN ?1 AND ?2";
constexpr const char* kDropRunning = "DELETE FROM run WHERE seq IN (SELECT c0 FROM batch)";

constexpr const char* kJob = "SELECT id, queue_id, priority, attempts_max, created_at, extras, payload FROM job WHERE seq = ?1";
constexpr const char* kJobBrief = "SELECT id, queue_id, priority, attempts_max, created_at, extras FROM job WHERE seq = ?1";
constexpr const char* kPlace = "SELECT queue_id, priority, flags, group_id, limit_id, coalesce(place, seq) FROM job WHERE seq = ?1";
constexpr const char* kProgress = "SELECT percent, word FROM note WHERE seq = ?1 AND percent IS NOT NULL";

// The four columns that all three tables have, in the order of the selects above. The state is known.
constexpr int kCommonColumns = 4;

void read_common(const Rows& row, Delivery& delivery, int first = 0) {
  delivery.fence = row.integer(first);
  delivery.run_at = row.integer(first + 1);
  delivery.deliveries = row.integer(first + 2);
  unpack_past(row.bytes(first + 3), delivery);
}

// And what a running one has beside them.
constexpr int kRunningColumns = kCommonColumns + 4;

void read_running(const Rows& row, std::int64_t seq, int first, Delivery& delivery) {
  delivery.seq = seq;
  delivery.state = JobState::running;
  read_common(row, delivery, first);
  first += kCommonColumns;
  delivery.claim_id = row.integer(first);
  delivery.lease_end = row.integer(first + 1);
  delivery.flags = row.integer(first + 2);
  if (delivery.flags & kHasLimitKey) delivery.limit_id = row.maybe_integer(first + 3);
}

// One for each; most are empty.
std::vector<std::string> pasts_of(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> pasts;
  pasts.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) pasts.push_back(pack_past(delivery));
  return pasts;
}

// First deliveries of plain jobs under one fence of one claim.
bool are_alike_in_run(const std::vector<Delivery>& deliveries, const std::vector<std::string>& pasts) {
  const Delivery& first = deliveries.front();
  return std::all_of(deliveries.begin(), deliveries.end(), [&](const Delivery& d) {
    return d.claim_id == first.claim_id && d.fence == first.fence && d.lease_end == first.lease_end && d.deliveries == 1 && d.flags == 0;
  }) && std::all_of(pasts.begin(), pasts.end(), [](const std::string& past) { return past.empty(); });
}

// Done by such a delivery, at one moment.
bool are_alike_in_done(const std::vector<Delivery>& deliveries, const std::vector<std::string>& pasts) {
  const Delivery& first = deliveries.front();
  return std::all_of(deliveries.begin(), deliveries.end(), [&](const Delivery& d) {
    return d.state == JobState::done && d.finished_at == first.finished_at && d.fence == first.fence && d.deliveries == 1 &&
           d.started_at == first.started_at && d.owner == first.owner;
  }) && std::all_of(pasts.begin(), pasts.end(), [](const std::string& past) { return past.empty(); });
}

Value as_past(const std::string& past) { return past.empty() ? Value{} : Value::blob(past); }

class ClaimsOfBatch {
 public:
  explicit ClaimsOfBatch(Call& call) : call_(call) {}

  void add_to(Delivery& delivery) {
    if (delivery.claim_id != claim_id_) look(delivery.claim_id);
    delivery.owner = owner_;
    delivery.queue_id = queue_id_;
    delivery.started_at = started_at_;
  }

 private:
  void look(std::int64_t claim_id) {
    auto row = call_.db.query(kFindClaim, claim_id);
    check(row.next(), "a running job has its claim");
    claim_id_ = claim_id;
    owner_ = row.text(0);
    queue_id_ = row.integer(1);
    started_at_ = row.integer(2);
  }

  Call& call_;
  std::int64_t claim_id_ = 0;  // of the last one
  std::string owner_;
  std::int64_t queue_id_ = 0;
  std::int64_t started_at_ = 0;
};

}  // namespace

std::string pack(const std::vector<std::int64_t>& numbers) {
  std::string bytes(numbers.size() * sizeof(std::int64_t), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<std::int64_t> unpack(std::string_view bytes) {
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::int64_t));
  return numbers;
}

std::optional<Delivery> find_running(Call& call, std::int64_t seq) {
  auto row = call.db.query(kFindRunning, seq);
  if (!row.next()) return std::nullopt;
  Delivery delivery;
  read_running(row, seq, 0, delivery);
  delivery.place = row.integer(kRunningColumns);
  delivery.owner = row.text(kRunningColumns + 1);
  delivery.queue_id = row.integer(kRunningColumns + 2);
  delivery.started_at = row.integer(kRunningColumns + 3);
  return delivery;
}

std::vector<std::optional<Delivery>> find_deliveries(Call& call, std::int64_t ns_id, const std::vector<const JobId*>& ids) {
  std::vector<std::optional<Delivery>> found(ids.size());
  call.db.batch().show(ids.size(), [&](std::size_t row, int) { return Value::blob(as_bytes(*ids[row])); });
  ClaimsOfBatch claims(call);
  auto rows = call.db.query(kFindBatch, ns_id);
  while (rows.next()) {
    std::optional<Delivery>& place = found[static_cast<std::size_t>(rows.integer(0))];
    const std::int64_t seq = rows.integer(1);
    if (rows.is_null(2)) {
      place = find_delivery(call, seq);
    } else {
      read_running(rows, seq, 2, place.emplace());
      claims.add_to(*place);
    }
  }
  return found;
}

Delivery find_delivery(Call& call, std::int64_t seq) {
  if (auto running = find_running(call, seq)) return *running;
  Delivery delivery{.seq = seq};
  if (auto finished = call.db.query(kFindFinished, seq); finished.next()) {
    delivery.state = static_cast<JobState>(finished.integer(kCommonColumns));
    read_common(finished, delivery);
    delivery.finished_at = finished.integer(kCommonColumns + 1);
    delivery.started_at = finished.maybe_integer(kCommonColumns + 2);
    delivery.owner = finished.text(kCommonColumns + 3);
    delivery.result = finished.text(kCommonColumns + 4);
    return delivery;
  }
  if (auto again = call.db.query(kFindAgain, seq); again.next()) {
    read_common(again, delivery);
    return delivery;
  }
  const auto run_at = call.db.number(kFindFirst, seq);
  check(run_at.has_value(), "a job that is looked for by its number exists");
  delivery.run_at = *run_at;
  return delivery;
}

void put_running(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  const std::vector<std::string> pasts = pasts_of(deliveries);
  call.db.batch().show(deliveries.size(), [&](std::size_t row, int column) {
    const Delivery& d = deliveries[row];
    switch (column) {
      case 0: return Value::integer(d.seq);
      case 1: return Value::integer(d.claim_id);
      case 2: return Value::integer(d.fence);
      case 3: return Value::integer(d.lease_end);
      case 4: return Value::integer(d.run_at);
      case 5: return Value::integer(d.deliveries);
      case 6: return Value::integer(d.flags);
      case 7: return Value::maybe(d.limit_id);
      default: return as_past(pasts[row]);
    }
  });
  const Delivery& like = deliveries.front();
  if (are_alike_in_run(deliveries, pasts)) call.db.execute(kPutRunningAlike, like.claim_id, like.fence, like.lease_end);
  else call.db.execute(kPutRunning);
}

void put_finished(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  const std::vector<std::string> pasts = pasts_of(deliveries);
  call.db.batch().show(deliveries.size(), [&](std::size_t row, int column) {
    const Delivery& d = deliveries[row];
    switch (column) {
      case 0: return Value::integer(d.seq);
      case 1: return Value::integer(static_cast<int>(d.state));
      case 2: return Value::integer(d.finished_at);
      case 3: return Value::integer(d.fence);
      case 4: return Value::integer(d.run_at);
      case 5: return Value::integer(d.deliveries);
      case 6: return Value::maybe(d.started_at);
      case 7: return Value::text(d.owner);
      case 8: return as_past(pasts[row]);
      default: return Value::blob(d.result);
    }
  });
  const Delivery& like = deliveries.front();
  if (are_alike_in_done(deliveries, pasts)) call.db.execute(kPutDoneAlike, like.finished_at, like.fence, like.started_at, like.owner);
  else call.db.execute(kPutFinished);
}

void drop_running(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  // Claims take jobs in the order of their numbers, so most batches are a few ranges without a gap.
  std::vector<std::int64_t> seqs;
  seqs.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) seqs.push_back(delivery.seq);
  std::sort(seqs.begin(), seqs.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const std::int64_t seq : seqs) {
    if (!ranges.empty() && ranges.back().second + 1 == seq) ranges.back().second = seq;
    else ranges.emplace_back(seq, seq);
  }
  if (ranges.size() > 2 + seqs.size() / 8) {
    call.db.batch().show(seqs.size(), [&](std::size_t row, int) { return Value::integer(seqs[row]); });
    call.db.execute(kDropRunning);
    return;
  }
  for (const auto& [first, last] : ranges) call.db.execute(kDropRange, first, last);
}

std::optional<std::int64_t> find_seq(Call& call, std::int64_t ns_id, const JobId& id) {
  return call.db.number(kFindSeq, ns_id, Bytes{as_bytes(id)});
}

JobId id_of(Call& call, std::int64_t seq) {
  auto row = call.db.query(kFindId, seq);
  check(row.next(), "a job that is looked for by its number exists");
  return as_id(row.bytes(0));
}

std::optional<Progress> find_progress(Call& call, std::int64_t seq) {
  auto row = call.db.query(kProgress, seq);
  if (!row.next()) return std::nullopt;
  return Progress{static_cast<int>(row.integer(0)), row.text(1)};
}

Job to_job(Call& call, const Delivery& delivery, bool with_payload) {
  Job job;
  {
    auto row = call.db.query(with_payload ? kJob : kJobBrief, delivery.seq);
    check(row.next(), "a delivery belongs to a job");
    job.id = as_id(row.bytes(0));
    const QueueName& name = call.names.queue_name(row.integer(1));
    job.queue = name.queue;
    job.stage = name.stage;
    job.priority = static_cast<int>(row.integer(2));
    job.attempts_max = static_cast<int>(row.integer(3));
    job.created_at = wall_time(row.integer(4));
    unpack_extras(row.bytes(5), job);
    if (with_payload) job.payload = row.text(6);
  }
  job.state = delivery.state;
  job.run_at = wall_time(delivery.run_at);
  if (is_finished(delivery.state)) job.finished_at = wall_time(delivery.finished_at);
  job.fence = delivery.fence;
  job.owner = delivery.owner;
  if (delivery.state == JobState::running) job.lease_left = Duration{delivery.lease_end - call.now_us()};
  job.deliveries = delivery.deliveries;
  job.failures = delivery.failures;
  job.losses = delivery.losses;
  job.losses_in_row = delivery.losses_in_row;
  job.laters = delivery.laters;
  if (delivery.last_outcome) job.last_outcome = static_cast<OutcomeKind>(*delivery.last_outcome);
  job.error = delivery.error;
  if (delivery.exit_status) job.exit_status = static_cast<int>(*delivery.exit_status);
  if (delivery.deliveries > 0) job.progress = find_progress(call, delivery.seq);
  if (with_payload) job.result = delivery.result;
  return job;
}

void add_place(Call& call, Delivery& delivery) {
  auto row = call.db.query(kPlace, delivery.seq);
  check(row.next(), "a delivery belongs to a job");
  delivery.queue_id = row.integer(0);
  delivery.priority = static_cast<int>(row.integer(1));
  delivery.flags = row.integer(2);
  delivery.group_id = row.maybe_integer(3);
  delivery.limit_id = row.maybe_integer(4);
  delivery.group_place = row.integer(5);
}

}  // namespace fenceline::sqlite
