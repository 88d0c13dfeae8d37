#include "backends/sqlite/delivery.hpp"

#include <cstring>

#include "backends/sqlite/extras.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindRunning = R"sql(
  SELECT r.fence, r.run_at, r.deliveries, r.failures, r.losses, r.losses_in_row, r.laters, r.last_outcome, r.exit_status, c.owner, r.error,
         r.claim_id, r.place, r.lease_end, r.previous_owner, r.flags, r.limit_id, c.queue_id, c.started_at
  FROM run r CROSS JOIN claim c ON c.id = r.claim_id WHERE r.seq = ?1)sql";

// c0 id. The number stands in the index of the id: the job's row is not read.
constexpr const char* kFindBatch = R"sql(
  SELECT b.n, j.seq, r.fence, r.run_at, r.deliveries, r.failures, r.losses, r.losses_in_row, r.laters, r.last_outcome, r.exit_status,
         c.owner, r.error, r.claim_id, r.place, r.lease_end, r.previous_owner, r.flags, r.limit_id, c.queue_id, c.started_at
  FROM batch b CROSS JOIN job j ON j.ns_id = ?1 AND j.id = b.c0 LEFT JOIN run r ON r.seq = j.seq LEFT JOIN claim c ON c.id = r.claim_id)sql";

constexpr const char* kFindFinished = R"sql(
  SELECT fence, run_at, deliveries, failures, losses, losses_in_row, laters, last_outcome, exit_status, owner, error, state, finished_at,
         started_at, result
  FROM done WHERE seq = ?1)sql";

constexpr const char* kFindAgain = R"sql(
  SELECT fence, run_at, deliveries, failures, losses, losses_in_row, laters, last_outcome, exit_status, owner, error
  FROM ready WHERE seq = ?1 AND deliveries > 0)sql";

constexpr const char* kFindFirst = "SELECT run_at FROM job WHERE seq = ?1";
constexpr const char* kFindSeq = "SELECT seq FROM job WHERE ns_id = ?1 AND id = ?2";
constexpr const char* kFindId = "SELECT id FROM job WHERE seq = ?1";

constexpr const char* kPutRunning = R"sql(
  INSERT OR REPLACE INTO run (seq, claim_id, place, fence, lease_end, run_at, deliveries, failures, losses, losses_in_row, laters,
                              last_outcome, exit_status, flags, limit_id, previous_owner, error)
  SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16 FROM batch)sql";

constexpr const char* kPutFinished = R"sql(
  INSERT INTO done (seq, state, finished_at, fence, run_at, deliveries, failures, losses, losses_in_row, laters, last_outcome, exit_status,
                    started_at, owner, error, result)
  SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15 FROM batch)sql";

constexpr const char* kDropRunning = "DELETE FROM run WHERE seq IN (SELECT c0 FROM batch)";

constexpr const char* kJob = "SELECT id, queue_id, priority, attempts_max, created_at, extras, payload FROM job WHERE seq = ?1";
constexpr const char* kJobBrief = "SELECT id, queue_id, priority, attempts_max, created_at, extras FROM job WHERE seq = ?1";
constexpr const char* kPlace = "SELECT queue_id, priority, flags, group_id, limit_id, coalesce(place, seq) FROM job WHERE seq = ?1";
constexpr const char* kProgress = "SELECT percent, word FROM note WHERE seq = ?1 AND percent IS NOT NULL";

// The eleven columns that all three tables have, in the order of the selects above.
constexpr int kCommonColumns = 11;

void read_common(const Rows& row, Delivery& delivery, int first = 0) {
  delivery.fence = row.integer(first);
  delivery.run_at = row.integer(first + 1);
  delivery.deliveries = row.integer(first + 2);
  delivery.failures = row.integer(first + 3);
  delivery.losses = row.integer(first + 4);
  delivery.losses_in_row = row.integer(first + 5);
  delivery.laters = row.integer(first + 6);
  delivery.last_outcome = row.maybe_integer(first + 7);
  delivery.exit_status = row.maybe_integer(first + 8);
  delivery.owner = row.text(first + 9);
  delivery.error = row.text(first + 10);
}

Delivery read_running(const Rows& row, std::int64_t seq, int first) {
  Delivery delivery{.seq = seq, .state = JobState::running};
  read_common(row, delivery, first);
  first += kCommonColumns;
  delivery.claim_id = row.integer(first);
  delivery.place = row.integer(first + 1);
  delivery.lease_end = row.integer(first + 2);
  if (!row.is_null(first + 3)) delivery.previous_owner = row.text(first + 3);
  delivery.flags = row.integer(first + 4);
  delivery.limit_id = row.maybe_integer(first + 5);
  delivery.queue_id = row.integer(first + 6);
  delivery.started_at = row.integer(first + 7);
  return delivery;
}

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
  return read_running(row, seq, 0);
}

std::vector<std::optional<Delivery>> find_deliveries(Call& call, std::int64_t ns_id, const std::vector<const JobId*>& ids) {
  std::vector<std::optional<Delivery>> found(ids.size());
  call.db.batch().show(ids.size(), [&](std::size_t row, int) { return Value::blob(as_bytes(*ids[row])); });
  auto rows = call.db.query(kFindBatch, ns_id);
  while (rows.next()) {
    std::optional<Delivery>& place = found[static_cast<std::size_t>(rows.integer(0))];
    const std::int64_t seq = rows.integer(1);
    if (rows.is_null(2)) place = find_delivery(call, seq);
    else place = read_running(rows, seq, 2);
  }
  return found;
}

Delivery find_delivery(Call& call, std::int64_t seq) {
  if (auto running = find_running(call, seq)) return *running;
  Delivery delivery{.seq = seq};
  if (auto finished = call.db.query(kFindFinished, seq); finished.next()) {
    read_common(finished, delivery);
    delivery.state = static_cast<JobState>(finished.integer(kCommonColumns));
    delivery.finished_at = finished.integer(kCommonColumns + 1);
    delivery.started_at = finished.maybe_integer(kCommonColumns + 2);
    delivery.result = finished.text(kCommonColumns + 3);
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
  call.db.batch().show(deliveries.size(), [&](std::size_t row, int column) {
    const Delivery& d = deliveries[row];
    switch (column) {
      case 0: return Value::integer(d.seq);
      case 1: return Value::integer(d.claim_id);
      case 2: return Value::integer(d.place);
      case 3: return Value::integer(d.fence);
      case 4: return Value::integer(d.lease_end);
      case 5: return Value::integer(d.run_at);
      case 6: return Value::integer(d.deliveries);
      case 7: return Value::integer(d.failures);
      case 8: return Value::integer(d.losses);
      case 9: return Value::integer(d.losses_in_row);
      case 10: return Value::integer(d.laters);
      case 11: return Value::maybe(d.last_outcome);
      case 12: return Value::maybe(d.exit_status);
      case 13: return Value::integer(d.flags);
      case 14: return Value::maybe(d.limit_id);
      case 15: return d.previous_owner ? Value::text(*d.previous_owner) : Value{};
      default: return Value::text(d.error);
    }
  });
  call.db.execute(kPutRunning);
}

void put_finished(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  call.db.batch().show(deliveries.size(), [&](std::size_t row, int column) {
    const Delivery& d = deliveries[row];
    switch (column) {
      case 0: return Value::integer(d.seq);
      case 1: return Value::integer(static_cast<int>(d.state));
      case 2: return Value::integer(d.finished_at);
      case 3: return Value::integer(d.fence);
      case 4: return Value::integer(d.run_at);
      case 5: return Value::integer(d.deliveries);
      case 6: return Value::integer(d.failures);
      case 7: return Value::integer(d.losses);
      case 8: return Value::integer(d.losses_in_row);
      case 9: return Value::integer(d.laters);
      case 10: return Value::maybe(d.last_outcome);
      case 11: return Value::maybe(d.exit_status);
      case 12: return Value::maybe(d.started_at);
      case 13: return Value::text(d.owner);
      case 14: return Value::text(d.error);
      default: return Value::blob(d.result);
    }
  });
  call.db.execute(kPutFinished);
}

void drop_running(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  call.db.batch().show(deliveries.size(), [&](std::size_t row, int) { return Value::integer(deliveries[row].seq); });
  call.db.execute(kDropRunning);
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
