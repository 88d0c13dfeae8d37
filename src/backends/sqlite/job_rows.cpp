#include "backends/sqlite/job_rows.hpp"

#include <algorithm>

#include "backends/sqlite/varint.hpp"
#include "backends/sqlite/waiting.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFrom = R"sql(
  SELECT seq, more, ns_id, queue_id, priority, attempts_max, created_at, coalesce(run_at, created_at), flags,
    group_id, limit_id, place,
         extras, id, ids, payload
  FROM job NOT INDEXED WHERE seq >= coalesce((SELECT max(seq) FROM job WHERE seq <= ?1), ?1) ORDER BY seq)sql";
constexpr const char* kBriefFrom = R"sql(
  SELECT seq, more, ns_id, queue_id FROM job NOT INDEXED
  WHERE seq >= coalesce((SELECT max(seq) FROM job WHERE seq <= ?1), 0) AND seq <= ?2 ORDER BY seq)sql";

constexpr const char* kBriefBefore =
    "SELECT seq, more, ns_id, queue_id FROM job NOT INDEXED WHERE seq < ?1 ORDER BY seq DESC";

constexpr const char* kById = "SELECT seq, ids FROM job WHERE ns_id = ?1 AND id = ?2";
// The only row with others that can hold the id in its middle: their ranges of ids do not overlap.
constexpr const char* kAround = R"sql(
  SELECT seq, ids, id FROM job INDEXED BY job_shared WHERE ns_id = ?1 AND more > 0 AND last_id >= ?2 ORDER BY last_id
    LIMIT 1)sql";
constexpr const char* kFirstBetween =
    "SELECT id FROM job WHERE ns_id = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id LIMIT ?4";
constexpr const char* kSharedFrom = R"sql(
  SELECT ids, id FROM job INDEXED BY job_shared WHERE ns_id = ?1 AND more > 0 AND last_id >= ?2 ORDER BY last_id)sql";
// The newest ids that stand in a row of their own, or first in one; then those behind the first.
constexpr const char* kNewestEnding = R"sql(
  SELECT id FROM (SELECT id FROM job WHERE ns_id = ?1 ORDER BY id DESC LIMIT ?2)
  WHERE substr(lower(hex(id)), -?3) = ?4)sql";
constexpr const char* kNewestShared =
    "SELECT ids FROM job INDEXED BY job_shared WHERE ns_id = ?1 AND more > 0 ORDER BY last_id DESC";
constexpr const char* kSomeBetween = "SELECT 1 FROM job WHERE ns_id = ?1 AND id BETWEEN ?2 AND ?3 LIMIT 1";
constexpr const char* kSomeAround = R"sql(
  SELECT 1 FROM (SELECT id FROM job INDEXED BY job_shared WHERE ns_id = ?1 AND more > 0 AND last_id >= ?2
    ORDER BY last_id LIMIT 1)
  WHERE id <= ?3)sql";

// The row that begins before the number and holds it; the half of it from there on, and the rest.
constexpr const char* kJobsAcross = R"sql(
  SELECT seq, more, id, ids, payload FROM job NOT INDEXED WHERE seq = (SELECT max(seq) FROM job WHERE seq < ?1)
    AND seq + more >= ?1)sql";
constexpr const char* kCopyJobs = R"sql(
  INSERT INTO job (seq, more, ns_id, id, last_id, queue_id, priority, attempts_max,
    created_at, run_at, flags, ids, payload)
  SELECT ?2, ?3, ns_id, ?4, ?5, queue_id, priority, attempts_max, created_at, run_at, flags, ?6,
    iif(?3 = 0, CAST(?7 AS TEXT), ?7)
  FROM job WHERE seq = ?1)sql";
constexpr const char* kCutJobs = R"sql(
  UPDATE job SET more = ?2, last_id = ?3, ids = ?4, payload = iif(?2 = 0, CAST(?5 AS TEXT), ?5) WHERE seq = ?1)sql";
constexpr const char* kDropJobs = "DELETE FROM job WHERE seq BETWEEN ?1 AND ?2";

// The last number of the row that holds this one.
constexpr const char* kRunsUpTo =
    "SELECT seq + more FROM run WHERE seq = (SELECT max(seq) FROM run WHERE seq <= ?1) AND seq + more >= ?1";
constexpr const char* kDoneUpTo =
    "SELECT seq + more FROM done WHERE seq = (SELECT max(seq) FROM done WHERE seq <= ?1) AND seq + more >= ?1";

constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kMillisecondBytes = 6;  // of a UUIDv7
// Of ids and payloads: with the other columns a row stays within a page.
constexpr std::size_t kRowBytesMost = 3900;

// Some jobs of a row as a row.
struct Half {
  std::int64_t more;
  std::string ids;       // of all
  std::string payloads;  // as they stand

  std::string_view id() const { return std::string_view(ids).substr(0, kIdBytes); }
  std::string_view others() const { return std::string_view(ids).substr(kIdBytes); }
  std::string_view last() const { return std::string_view(ids).substr(ids.size() - kIdBytes); }
};

Half half_of(std::string_view ids, const std::vector<std::string_view>& payloads, std::size_t from, std::size_t to) {
  Half half{
      static_cast<std::int64_t>(to - from) - 1, std::string(ids.substr(from * kIdBytes, (to - from) * kIdBytes)), {}};
  if (half.more == 0) half.payloads = payloads[from];
  else
    for (std::size_t i = from; i < to; ++i) add_sized(half.payloads, payloads[i]);
  return half;
}

// Empty for a job alone.
std::optional<Bytes> if_shared(const Half& half, std::string_view bytes) {
  return half.more > 0 ? std::optional(Bytes{bytes}) : std::nullopt;
}

// No row holds jobs on both sides of it from now on.
void part_jobs_before(Call& call, std::int64_t seq) {
  std::int64_t first = 0;
  std::optional<Half> before;
  std::optional<Half> after;
  {
    auto row = call.db.query(kJobsAcross, seq);
    if (!row.next()) return;
    first = row.integer(0);
    const auto size = static_cast<std::size_t>(row.integer(1)) + 1;
    const std::string ids = row.text(2) + row.text(3);
    std::string_view rest = row.bytes(4);
    std::vector<std::string_view> payloads;
    for (std::size_t i = 0; i < size; ++i) payloads.push_back(take_sized(rest));
    const auto middle = static_cast<std::size_t>(seq - first);
    before = half_of(ids, payloads, 0, middle);
    after = half_of(ids, payloads, middle, size);
  }
  call.db.execute(kCutJobs, first, before->more, if_shared(*before, before->last()),
                  if_shared(*before, before->others()), Bytes{before->payloads});
  call.db.execute(kCopyJobs, first, seq, after->more, Bytes{after->id()}, if_shared(*after, after->last()),
                  if_shared(*after, after->others()), Bytes{after->payloads});
}

}  // namespace

bool of_one_millisecond(const JobId& a, const JobId& b) {
  return as_bytes(a).substr(0, kMillisecondBytes) == as_bytes(b).substr(0, kMillisecondBytes);
}

bool add_to_row(JobRow& row, const NewJob& first, const NewJob& last, const NewJob& next) {
  if (row.alone) return false;
  const std::size_t size = row.more > 0 ? row.ids.size() + row.payloads.size() : first.payload.size() + 2;
  if (size + next.payload.size() + kIdBytes + 2 > kRowBytesMost) return false;
  if (!(last.id < next.id) || !of_one_millisecond(first.id, next.id)) return false;
  if (row.more == 0) {
    row.ids.reserve(kRowBytesMost / 4);
    row.payloads.reserve(kRowBytesMost);
    add_sized(row.payloads, first.payload);
  }
  row.ids += as_bytes(next.id);
  add_sized(row.payloads, next.payload);
  row.more += 1;
  return true;
}

bool may_be_there(Call& call, std::int64_t ns_id, const JobId& first, const JobId& last) {
  const Bytes from{as_bytes(first)};
  const Bytes to{as_bytes(last)};
  return call.db.number(kSomeBetween, ns_id, from, to) || call.db.number(kSomeAround, ns_id, from, to);
}

bool JobWalk::find(std::int64_t seq) {
  if (!rows_ || seq < seq_ || !reaches(seq)) {
    rows_.reset();
    rows_.reset(new Rows(call_.db.query(kFrom, seq)));
    read();
    if (!ended_ && last_ < seq) read();
  }
  seq_ = seq;
  return !ended_ && first_ <= seq && seq <= last_;
}

// Whether the walk stands at the number, or behind it, after some steps.
bool JobWalk::reaches(std::int64_t seq) {
  constexpr int kStepsMost = 4;
  for (int step = 0; step < kStepsMost && !ended_ && last_ < seq; ++step) read();
  return ended_ || last_ >= seq;
}

void JobWalk::read() {
  ended_ = !rows_->next();
  if (ended_) return;
  first_ = rows_->integer(0);
  last_ = first_ + rows_->integer(1);
  payload_of_ = 0;
}

JobId JobWalk::id() const {
  if (seq_ == first_) return as_id(rows_->bytes(13));
  return as_id(rows_->bytes(14).substr(static_cast<std::size_t>(seq_ - first_ - 1) * kIdBytes));
}

std::string_view JobWalk::payload() {
  if (first_ == last_) return rows_->bytes(15);
  if (payload_of_ == 0) {
    payload_of_ = first_;
    payloads_ = rows_->bytes(15);
  }
  for (; payload_of_ <= seq_; ++payload_of_) payload_ = take_sized(payloads_);
  return payload_;
}

std::optional<std::int64_t> IdWalk::find_in_row(std::string_view id) {
  const std::size_t size = ids_.size() / kIdBytes;
  const auto at = [&](std::size_t i) { return std::string_view(ids_).substr(i * kIdBytes, kIdBytes); };
  if (next_ >= size || at(next_) != id) {
    std::size_t low = 0;
    for (std::size_t high = size; low < high;) {
      const std::size_t middle = (low + high) / 2;
      if (at(middle) < id) low = middle + 1;
      else high = middle;
    }
    if (low == size || at(low) != id) return std::nullopt;
    next_ = low;
  }
  next_ += 1;
  return seq_ + static_cast<std::int64_t>(next_);
}

void IdWalk::remember(std::int64_t seq, std::string_view ids) {
  seq_ = seq;
  ids_ = ids;
  next_ = 0;
}

std::optional<std::int64_t> IdWalk::find(const JobId& id) {
  const std::string_view bytes = as_bytes(id);
  if (const auto known = find_in_row(bytes)) return known;
  if (auto row = call_.db.query(kById, ns_id_, Bytes{bytes}); row.next()) {
    remember(row.integer(0), row.bytes(1));
    return seq_;
  }
  auto row = call_.db.query(kAround, ns_id_, Bytes{bytes});
  if (!row.next() || row.bytes(2) > bytes) return std::nullopt;
  remember(row.integer(0), row.bytes(1));
  return find_in_row(bytes);
}

std::vector<JobId> ids_between(Call& call, std::int64_t ns_id, const JobId& first, const JobId& last,
                               std::size_t most) {
  std::vector<JobId> found;
  {
    auto rows = call.db.query(kFirstBetween, ns_id, Bytes{as_bytes(first)}, Bytes{as_bytes(last)},
                              static_cast<std::int64_t>(most));
    while (rows.next()) found.push_back(as_id(rows.bytes(0)));
  }
  // Rows that hold several follow each other in the order of their ids.
  std::size_t others = 0;
  auto rows = call.db.query(kSharedFrom, ns_id, Bytes{as_bytes(first)});
  while (others < most && rows.next() && rows.bytes(1) <= as_bytes(last)) {
    for (std::string_view ids = rows.bytes(0); !ids.empty() && others < most; ids.remove_prefix(kIdBytes)) {
      const JobId id = as_id(ids);
      if (id < first || last < id) continue;
      found.push_back(id);
      others += 1;
    }
  }
  std::sort(found.begin(), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

std::vector<JobId> newest_ids_ending(Call& call, std::int64_t ns_id, const std::string& suffix) {
  std::vector<JobId> found;
  {
    auto rows = call.db.query(kNewestEnding, ns_id, kNewestIds, static_cast<std::int64_t>(suffix.size()), suffix);
    while (rows.next()) found.push_back(as_id(rows.bytes(0)));
  }
  int searched = 0;
  auto rows = call.db.query(kNewestShared, ns_id);
  while (searched < kNewestIds && rows.next()) {
    for (std::string_view ids = rows.bytes(0); !ids.empty(); ids.remove_prefix(kIdBytes)) {
      if (const JobId id = as_id(ids); hex_digits(id).ends_with(suffix)) found.push_back(id);
      searched += 1;
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<JobsOfRow> job_rows(Call& call, std::int64_t after, std::int64_t up_to, std::size_t most) {
  std::vector<JobsOfRow> found;
  auto rows = call.db.query(kBriefFrom, after, up_to);
  while (found.size() < most && rows.next()) {
    const SeqRange numbers{std::max(rows.integer(0), after + 1), std::min(rows.integer(0) + rows.integer(1), up_to)};
    if (numbers.first <= numbers.last) found.push_back({numbers, rows.integer(2), rows.integer(3)});
  }
  return found;
}

std::vector<JobsOfRow> job_rows_before(Call& call, std::int64_t before, std::size_t most) {
  std::vector<JobsOfRow> found;
  auto rows = call.db.query(kBriefBefore, before);
  while (found.size() < most && rows.next()) {
    const SeqRange numbers{rows.integer(0), std::min(rows.integer(0) + rows.integer(1), before - 1)};
    found.push_back({numbers, rows.integer(2), rows.integer(3)});
  }
  return found;
}

std::vector<std::int64_t> ready_among(Call& call, const SeqRange& numbers, std::size_t most) {
  const std::vector<std::int64_t> waiting = waiting_among(call, numbers);
  std::vector<std::int64_t> ready = idle_among(call, numbers, most + waiting.size());
  std::erase_if(ready, [&](std::int64_t seq) { return std::binary_search(waiting.begin(), waiting.end(), seq); });
  if (ready.size() > most) ready.resize(most);
  return ready;
}

std::vector<std::int64_t> idle_among(Call& call, const SeqRange& numbers, std::size_t most) {
  std::vector<std::int64_t> idle;
  for (std::int64_t seq = numbers.first; seq <= numbers.last && idle.size() < most; ++seq) {
    if (const auto finished = call.db.number(kDoneUpTo, seq)) seq = *finished;
    else if (const auto running = call.db.number(kRunsUpTo, seq)) seq = *running;
    else idle.push_back(seq);
  }
  return idle;
}

void have_own_row(Call& call, std::int64_t seq) {
  part_jobs_before(call, seq);
  part_jobs_before(call, seq + 1);
}

void drop_jobs(Call& call, std::vector<std::int64_t> seqs) {
  std::sort(seqs.begin(), seqs.end());
  for (const SeqRange& range : ranges_of(seqs)) {
    part_jobs_before(call, range.first);
    part_jobs_before(call, range.last + 1);
    call.db.execute(kDropJobs, range.first, range.last);
  }
}

}  // namespace fenceline::sqlite
