#include "backends/sqlite/delivery.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "backends/sqlite/extras.hpp"
#include "backends/sqlite/finished.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/past.hpp"
#include "backends/sqlite/seq_ranges.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

// From the row that may hold the number ?1 on.
constexpr const char* kRunningFrom = R"sql(
  SELECT seq, more, fence, run_at, deliveries, past, claim_id, lease_end, flags, limit_id, place FROM run
  WHERE seq >= coalesce((SELECT max(seq) FROM run WHERE seq <= ?1), ?1) ORDER BY seq)sql";

// What the jobs of a claim share: asked for once, not with each of them.
constexpr const char* kFindClaim = "SELECT owner, queue_id, started_at FROM claim WHERE id = ?1";

// One that was granted before and does not run now, with its state.
constexpr const char* kFindAgain = R"sql(
  SELECT fence, run_at, deliveries, past, 0 FROM ready WHERE seq = ?1 AND deliveries > 0
  UNION ALL SELECT fence, run_at, deliveries, past, 2 FROM waiting WHERE seq = ?1)sql";

// One that was never granted and has a past all the same.
constexpr const char* kPastOfFirst = R"sql(
  SELECT past FROM ready WHERE queue_id = ?1 AND lane IN (0, 1, 2, 3, 4, 5, 6) AND rank = ?2 AND run_at = ?3
    AND seq = ?4)sql";

// c0 number, c1 more, c2 claim, c3 place, c4 fence, c5 lease end, c6 run time, c7 deliveries, c8 flags, c9 limit key,
// c10 past
constexpr const char* kPutRunning = R"sql(
  INSERT INTO run (seq, more, claim_id, place, fence, lease_end, run_at, deliveries, flags, limit_id, past)
  SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 FROM batch)sql";

// The same for first deliveries of plain jobs, as most are: what they share is said once. ?1 claim, ?2 fence, ?3 lease
// end
constexpr const char* kPutRunningAlike = R"sql(
  INSERT INTO run (seq, more, claim_id, place, fence, lease_end, run_at, deliveries, flags)
  SELECT c0, c1, ?1, c3, ?2, ?3, c6, 1, 0 FROM batch)sql";

// The row that begins before the number and holds it; the half of it from there on, and the rest.
constexpr const char* kRunningAcross =
    "SELECT seq, more FROM run WHERE seq = (SELECT max(seq) FROM run WHERE seq < ?1) AND seq + more >= ?1";
constexpr const char* kCopyRunning = R"sql(
  INSERT INTO run (seq, more, claim_id, place, fence, lease_end, run_at, deliveries, flags)
  SELECT ?2, seq + more - ?2, claim_id, place + ?2 - seq, fence, lease_end, run_at, deliveries, flags FROM run
    WHERE seq = ?1)sql";
constexpr const char* kCutRunning = "UPDATE run SET more = ?2 - 1 - seq WHERE seq = ?1";

constexpr const char* kRenewRange = "UPDATE run SET lease_end = ?3 WHERE seq BETWEEN ?1 AND ?2";
constexpr const char* kRenewRunning = "UPDATE run SET lease_end = ?1 WHERE seq IN (SELECT c0 FROM batch)";
constexpr const char* kDropRunningRange = "DELETE FROM run WHERE seq BETWEEN ?1 AND ?2";
constexpr const char* kDropRunning = "DELETE FROM run WHERE seq IN (SELECT c0 FROM batch)";

constexpr const char* kFindProgress = "SELECT percent, word FROM note WHERE seq = ?1 AND percent IS NOT NULL";

bool of_one_grant(const Delivery& a, const Delivery& b) {
  return a.claim_id == b.claim_id && a.fence == b.fence && a.lease_end == b.lease_end;
}

// First deliveries of plain jobs under one fence of one claim.
bool are_alike_in_run(const std::vector<Delivery>& deliveries, const std::vector<std::string>& pasts) {
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    if (!is_first_of_plain(deliveries[i], pasts[i]) || !of_one_grant(deliveries[i], deliveries.front())) return false;
  }
  return true;
}

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

// Looks for running jobs. Cheap for numbers that ascend: neighbours share a row, or their rows follow each other.
// Nothing may change `run` meanwhile.
class RunWalk {
 public:
  explicit RunWalk(Call& call) : call_(call), claims_(call) {}

  std::optional<Delivery> find(std::int64_t seq) {
    if (!rows_ || seq < asked_ || !reaches(seq)) seek(seq);
    asked_ = seq;
    if (ended_ || seq < first_ || seq > last_) return std::nullopt;
    std::optional<Delivery> found(row_);
    found->seq = seq;
    found->place = row_.place + seq - first_;
    return found;
  }

 private:
  // Whether the walk stands at the number, or behind it, after some steps.
  bool reaches(std::int64_t seq) {
    constexpr int kStepsMost = 4;
    for (int step = 0; step < kStepsMost && !ended_ && last_ < seq; ++step) read();
    return ended_ || last_ >= seq;
  }
  void seek(std::int64_t seq) {
    rows_.reset();
    rows_.reset(new Rows(call_.db.query(kRunningFrom, seq)));
    read();
    if (!ended_ && last_ < seq) read();
  }
  void read() {
    ended_ = !rows_->next();
    if (ended_) return;
    first_ = rows_->integer(0);
    last_ = first_ + rows_->integer(1);
    row_ = Delivery{};
    row_.state = JobState::running;
    read_common(*rows_, row_, 2);
    row_.claim_id = rows_->integer(kCommonColumns + 2);
    row_.lease_end = rows_->integer(kCommonColumns + 3);
    row_.flags = rows_->integer(kCommonColumns + 4);
    if (row_.flags & kHasLimitKey) row_.limit_id = rows_->maybe_integer(kCommonColumns + 5);
    row_.place = rows_->integer(kCommonColumns + 6);
    row_.shares_row = last_ > first_;
    claims_.add_to(row_);
  }

  Call& call_;
  ClaimsOfBatch claims_;
  std::unique_ptr<Rows> rows_;
  bool ended_ = false;
  std::int64_t asked_ = 0;
  std::int64_t first_ = 0;  // of the row at hand
  std::int64_t last_ = 0;
  Delivery row_;
};

// No row holds jobs on both sides of it from now on.
void part_running_before(Call& call, std::int64_t seq) {
  const auto first = call.db.number(kRunningAcross, seq);
  if (!first) return;
  call.db.execute(kCopyRunning, *first, seq);
  call.db.execute(kCutRunning, *first, seq);
}

// Changes the rows of these, by ranges if there are few: claims take jobs in the order of their numbers.
template <class OfRange, class OfBatch>
void change_running(Call& call, const std::vector<Delivery>& deliveries, OfRange of_range, OfBatch of_batch) {
  if (deliveries.empty()) return;
  std::vector<std::int64_t> seqs;
  seqs.reserve(deliveries.size());
  bool share_rows = false;
  for (const Delivery& delivery : deliveries) {
    seqs.push_back(delivery.seq);
    share_rows = share_rows || delivery.shares_row;
  }
  std::sort(seqs.begin(), seqs.end());
  const std::vector<SeqRange> ranges = ranges_of(seqs);
  for (const SeqRange& range : ranges) {
    if (!share_rows) break;
    part_running_before(call, range.first);
    part_running_before(call, range.last + 1);
  }
  if (ranges.size() <= 2 + seqs.size() / 8) {
    for (const SeqRange& range : ranges) of_range(range);
    return;
  }
  call.db.batch().show(seqs.size(), [&](std::size_t row, int) { return Value::integer(seqs[row]); });
  of_batch();
}

}  // namespace

std::optional<Delivery> find_running(Call& call, std::int64_t seq) { return RunWalk(call).find(seq); }

std::vector<Delivery> find_running_under(Call& call, std::int64_t claim_id, const std::vector<std::int64_t>& seqs) {
  std::vector<Delivery> found;
  RunWalk walk(call);
  for (const std::int64_t seq : seqs) {
    std::optional<Delivery> running = walk.find(seq);
    if (running && running->claim_id == claim_id) found.push_back(std::move(*running));
  }
  return found;
}

std::vector<std::optional<Delivery>> find_deliveries(Call& call, std::int64_t ns_id,
                                                     const std::vector<const JobId*>& ids) {
  std::vector<std::optional<Delivery>> found(ids.size());
  std::vector<std::int64_t> seqs(ids.size());
  IdWalk numbers(call, ns_id);
  for (std::size_t i = 0; i < ids.size(); ++i) seqs[i] = numbers.find(*ids[i]).value_or(0);
  {
    RunWalk walk(call);
    for (std::size_t i = 0; i < seqs.size(); ++i) {
      if (seqs[i] != 0) found[i] = walk.find(seqs[i]);
    }
  }
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    if (seqs[i] != 0 && !found[i]) found[i] = find_delivery(call, seqs[i]);
  }
  return found;
}

Delivery find_delivery(Call& call, std::int64_t seq) {
  if (auto running = find_running(call, seq)) return *running;
  Delivery delivery{.seq = seq};
  if (auto finished = find_finished(call, seq)) return *finished;
  if (auto again = call.db.query(kFindAgain, seq); again.next()) {
    delivery.state = static_cast<JobState>(again.integer(kCommonColumns));
    read_common(again, delivery, 0);
    return delivery;
  }
  JobWalk job(call);
  check(job.find(seq), "a job that is looked for by its number exists");
  delivery.run_at = job.run_at();
  if (job.flags() & kHasPast) {
    auto row = call.db.query(kPastOfFirst, job.queue_id(), -job.priority(), delivery.run_at, seq);
    if (row.next()) unpack_past(row.bytes(0), delivery);
  }
  return delivery;
}

void put_running(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  const std::vector<std::string> pasts = pasts_of(deliveries);
  struct Row {
    std::size_t at;
    std::int64_t more = 0;
  };
  std::vector<Row> put;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const Delivery& d = deliveries[i];
    const Delivery* before = put.empty() ? nullptr : &deliveries[put.back().at];
    if (before && d.seq == before->seq + put.back().more + 1 && d.run_at == before->run_at &&
        of_one_grant(d, *before) && is_first_of_plain(d, pasts[i]) && is_first_of_plain(*before, pasts[put.back().at]))
      put.back().more += 1;
    else put.push_back({i});
  }
  call.db.batch().show(put.size(), [&](std::size_t row, int column) {
    const Delivery& d = deliveries[put[row].at];
    switch (column) {
      case 0: return Value::integer(d.seq);
      case 1: return Value::integer(put[row].more);
      case 2: return Value::integer(d.claim_id);
      case 3: return Value::integer(static_cast<std::int64_t>(put[row].at));
      case 4: return Value::integer(d.fence);
      case 5: return Value::integer(d.lease_end);
      case 6: return Value::integer(d.run_at);
      case 7: return Value::integer(d.deliveries);
      case 8: return Value::integer(d.flags);
      case 9: return Value::maybe(d.limit_id);
      default: return past_value(pasts[put[row].at]);
    }
  });
  const Delivery& like = deliveries.front();
  if (are_alike_in_run(deliveries, pasts)) call.db.execute(kPutRunningAlike, like.claim_id, like.fence, like.lease_end);
  else call.db.execute(kPutRunning);
}

void drop_running(Call& call, const std::vector<Delivery>& deliveries) {
  change_running(
      call, deliveries, [&](const SeqRange& range) { call.db.execute(kDropRunningRange, range.first, range.last); },
      [&] { call.db.execute(kDropRunning); });
}

void renew_running(Call& call, const std::vector<Delivery>& deliveries, std::int64_t lease_end) {
  change_running(
      call, deliveries,
      [&](const SeqRange& range) { call.db.execute(kRenewRange, range.first, range.last, lease_end); },
      [&] { call.db.execute(kRenewRunning, lease_end); });
}

std::optional<std::int64_t> find_seq(Call& call, std::int64_t ns_id, const JobId& id) {
  return IdWalk(call, ns_id).find(id);
}

JobId id_of(Call& call, std::int64_t seq) {
  JobWalk job(call);
  check(job.find(seq), "a job that is looked for by its number exists");
  return job.id();
}

std::optional<Progress> find_progress(Call& call, std::int64_t seq) {
  auto row = call.db.query(kFindProgress, seq);
  if (!row.next()) return std::nullopt;
  return Progress{static_cast<int>(row.integer(0)), row.text(1)};
}

Job to_job(Call& call, const Delivery& delivery, bool with_payload) {
  Job job;
  {
    JobWalk row(call);
    check(row.find(delivery.seq), "a delivery belongs to a job");
    job.id = row.id();
    const QueueName& name = call.names.queue_name(row.queue_id());
    job.queue = name.queue;
    job.stage = name.stage;
    job.priority = row.priority();
    job.attempts_max = row.attempts_max();
    job.created_at = wall_time(row.created_at());
    unpack_extras(row.extras(), job);
    if (with_payload) job.payload = row.payload();
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
  JobWalk row(call);
  check(row.find(delivery.seq), "a delivery belongs to a job");
  delivery.queue_id = row.queue_id();
  delivery.priority = row.priority();
  delivery.flags = row.flags();
  delivery.group_id = row.group_id();
  delivery.limit_id = row.limit_id();
  delivery.group_place = row.place();
}

}  // namespace fenceline::sqlite
