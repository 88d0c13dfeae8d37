// A page of a list of jobs. A step reads rows of the table that knows the state, or of `job` or `tag`, in the order of
// the list, and says of each whether it fits; what fits is loaded, and looked at once more if the key, the error or the
// time was asked for. A page ends after kLookedAtMost of them, wherever it is: the work of a call is bounded.
#include <algorithm>
#include <limits>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/history.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

// Each reads number, how many more stand in the same row, and whether they fit. ?1 is the namespace, ?2 the cursor, ?3
// a queue's name, or empty for all, ?4 how many rows. Up: behind the cursor, oldest first. Down: before it, newest
// first.
constexpr const char* kRunningUp = R"sql(
  SELECT r.seq, r.more, q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM run r CROSS JOIN claim c ON c.id = r.claim_id CROSS JOIN queue q ON q.id = c.queue_id
  WHERE r.seq >= coalesce((SELECT max(seq) FROM run WHERE seq <= ?2), 0) AND r.seq + r.more > ?2
  ORDER BY r.seq LIMIT ?4)sql";
constexpr const char* kRunningDown = R"sql(
  SELECT r.seq, r.more, q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM run r CROSS JOIN claim c ON c.id = r.claim_id CROSS JOIN queue q ON q.id = c.queue_id
  WHERE r.seq < ?2 ORDER BY r.seq DESC LIMIT ?4)sql";
constexpr const char* kDoneUp = R"sql(
  SELECT d.seq, d.more, d.state = 3 AND q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM done d CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE d.seq >= coalesce((SELECT max(seq) FROM done WHERE seq <= ?2), 0) AND d.seq + d.more > ?2
  ORDER BY d.seq LIMIT ?4)sql";
constexpr const char* kDoneDown = R"sql(
  SELECT d.seq, d.more, d.state = 3 AND q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM done d CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE d.seq < ?2 ORDER BY d.seq DESC LIMIT ?4)sql";
constexpr const char* kWaitingUp = R"sql(
  SELECT w.seq, 0, q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM waiting w CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= w.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE w.seq > ?2 ORDER BY w.seq LIMIT ?4)sql";
constexpr const char* kWaitingDown = R"sql(
  SELECT w.seq, 0, q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM waiting w CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= w.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE w.seq < ?2 ORDER BY w.seq DESC LIMIT ?4)sql";
// ?5 is the state: dead or cancelled.
constexpr const char* kBadlyUp = R"sql(
  SELECT d.seq, 0, q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM done d CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE d.state = ?5 AND d.state > 3 AND d.seq > ?2 ORDER BY d.seq LIMIT ?4)sql";
constexpr const char* kBadlyDown = R"sql(
  SELECT d.seq, 0, q.ns_id = ?1 AND (?3 = '' OR q.name = ?3)
  FROM done d CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= d.seq)
    CROSS JOIN queue q ON q.id = j.queue_id
  WHERE d.state = ?5 AND d.state > 3 AND d.seq < ?2 ORDER BY d.seq DESC LIMIT ?4)sql";
// ?5 is a state or -1, ?6 the tag. A job with a tag has rows of its own.
constexpr const char* kTaggedUp = R"sql(
  SELECT t.seq, 0, (?3 = '' OR q.name = ?3) AND (?5 < 0 OR ?5 = coalesce(
      (SELECT d.state FROM done d WHERE d.seq = t.seq), (SELECT 1 FROM run r WHERE r.seq = t.seq),
      (SELECT 2 FROM waiting w WHERE w.seq = t.seq), 0))
  FROM tag t CROSS JOIN job j ON j.seq = t.seq CROSS JOIN queue q ON q.id = j.queue_id
  WHERE t.ns_id = ?1 AND t.name = ?6 AND t.seq > ?2 ORDER BY t.seq LIMIT ?4)sql";
constexpr const char* kTaggedDown = R"sql(
  SELECT t.seq, 0, (?3 = '' OR q.name = ?3) AND (?5 < 0 OR ?5 = coalesce(
      (SELECT d.state FROM done d WHERE d.seq = t.seq), (SELECT 1 FROM run r WHERE r.seq = t.seq),
      (SELECT 2 FROM waiting w WHERE w.seq = t.seq), 0))
  FROM tag t CROSS JOIN job j ON j.seq = t.seq CROSS JOIN queue q ON q.id = j.queue_id
  WHERE t.ns_id = ?1 AND t.name = ?6 AND t.seq < ?2 ORDER BY t.seq DESC LIMIT ?4)sql";
// Rows of ready jobs are not kept in the order of enqueue: those of the queue, or of all, are sorted.
constexpr const char* kReadyUp = R"sql(
  SELECT r.seq, r.more, 1 FROM queue q CROSS JOIN ready r ON r.queue_id = q.id
  WHERE q.ns_id = ?1 AND (?3 = '' OR q.name = ?3) AND r.seq + r.more > ?2 ORDER BY r.seq LIMIT ?4)sql";
constexpr const char* kReadyDown = R"sql(
  SELECT r.seq, r.more, 1 FROM queue q CROSS JOIN ready r ON r.queue_id = q.id
  WHERE q.ns_id = ?1 AND (?3 = '' OR q.name = ?3) AND r.seq < ?2 ORDER BY r.seq DESC LIMIT ?4)sql";

constexpr std::size_t kRowsAtOnce = 1000;
constexpr std::size_t kLookedAtMost = 10'000;
constexpr int kReadyStepsMost = 5;

struct ListedRow {
  SeqRange numbers;  // those that lie behind the cursor
  bool fits = false;
};

class Listing {
 public:
  Listing(Call& call, const JobsRequest& request, std::int64_t ns_id, std::int64_t first)
      : call_(call),
        request_(request),
        ns_id_(ns_id),
        first_(first),
        cursor_(request.newest_first ? (request.after > 0 ? request.after : std::numeric_limits<std::int64_t>::max())
                                     : std::max(request.after, first - 1)) {}

  JobsReply page() {
    for (int step = 0;; ++step) {
      const std::size_t wanted = step == 0 ? static_cast<std::size_t>(request_.limit) + 1 : kRowsAtOnce;
      const std::vector<ListedRow> rows = next_rows(step, wanted);
      for (const ListedRow& row : rows) {
        if (!row.fits || !asks_for_details(request_)) looked_ += 1;
        if (row.fits && !add_row(row.numbers)) return std::move(reply_);
        cursor_ = request_.newest_first ? row.numbers.first : row.numbers.last;
      }
      if (rows.size() < wanted || (request_.newest_first && cursor_ <= first_)) return std::move(reply_);
      if (looked_ >= kLookedAtMost) {
        reply_.next = cursor_;
        return std::move(reply_);
      }
    }
  }

 private:
  // Ready jobs are soon found where most are ready; where many others come first, the ready ones are looked through.
  std::vector<ListedRow> next_rows(int step, std::size_t most) {
    const bool down = request_.newest_first;
    const int state = request_.state ? static_cast<int>(*request_.state) : -1;
    if (!request_.tag.empty()) return read(down ? kTaggedDown : kTaggedUp, most, state, request_.tag);
    if (!request_.state || (request_.state == JobState::ready && step < kReadyStepsMost)) return rows_of_jobs(most);
    switch (*request_.state) {
      case JobState::ready: return read(down ? kReadyDown : kReadyUp, most);
      case JobState::running: return read(down ? kRunningDown : kRunningUp, most);
      case JobState::waiting: return read(down ? kWaitingDown : kWaitingUp, most);
      case JobState::done: return read(down ? kDoneDown : kDoneUp, most);
      default: return read(down ? kBadlyDown : kBadlyUp, most, state);
    }
  }

  template <class... More>
  std::vector<ListedRow> read(const char* sql, std::size_t most, const More&... more) {
    std::vector<ListedRow> found;
    auto rows =
        call_.db.query(sql, ns_id_, cursor_, request_.queue.value_or(""), static_cast<std::int64_t>(most), more...);
    while (rows.next()) {
      const std::int64_t first = rows.integer(0);
      const std::int64_t last = first + rows.integer(1);
      found.push_back({request_.newest_first ? SeqRange{first, std::min(last, cursor_ - 1)}
                                             : SeqRange{std::max(first, cursor_ + 1), last},
                       rows.integer(2) != 0});
    }
    return found;
  }

  std::vector<ListedRow> rows_of_jobs(std::size_t most) {
    const std::vector<JobsOfRow> rows = request_.newest_first
                                            ? job_rows_before(call_, cursor_, most)
                                            : job_rows(call_, cursor_, std::numeric_limits<std::int64_t>::max(), most);
    std::vector<ListedRow> found;
    for (const JobsOfRow& row : rows)
      found.push_back(
          {row.numbers,
           row.ns_id == ns_id_ && (!request_.queue || call_.names.queue_name(row.queue_id).queue == *request_.queue)});
    return found;
  }

  // False: the page is full, or enough was looked at.
  bool add_row(const SeqRange& numbers) {
    std::vector<std::int64_t> seqs;
    if (request_.state == JobState::ready && request_.tag.empty()) {
      seqs = ready_among(call_, numbers, static_cast<std::size_t>(numbers.last - numbers.first + 1));
    } else {
      for (std::int64_t seq = numbers.first; seq <= numbers.last; ++seq) seqs.push_back(seq);
    }
    if (request_.newest_first) std::reverse(seqs.begin(), seqs.end());
    for (const std::int64_t seq : seqs) {
      const bool full = reply_.jobs.size() == static_cast<std::size_t>(request_.limit);
      if (full && !asks_for_details(request_)) return ends_with(last_);
      const Delivery delivery = find_delivery(call_, seq);
      Job job = to_job(call_, delivery, request_.with_payload);
      if (matches_details(request_, job)) {
        if (full) return ends_with(last_);
        job.ran_for = last_run(call_, delivery);
        reply_.jobs.push_back(std::move(job));
        last_ = seq;
      } else if (++looked_ >= kLookedAtMost) {
        return ends_with(seq);
      }
    }
    return true;
  }

  bool ends_with(std::int64_t next) {
    reply_.next = next;
    return false;
  }

  Call& call_;
  const JobsRequest& request_;
  const std::int64_t ns_id_;
  const std::int64_t first_;  // none of its jobs is older
  std::int64_t cursor_;       // the last that was looked at
  std::int64_t last_ = 0;
  std::size_t looked_ = 0;
  JobsReply reply_;
};

}  // namespace

Result<JobsReply> list_jobs(Call& call, const JobsRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return JobsReply{};
  const std::int64_t first = call.db.number("SELECT first_seq FROM namespace WHERE id = ?1", *ns_id).value_or(0);
  if (first == 0) return JobsReply{};
  return Listing(call, request, *ns_id, first).page();
}

}  // namespace fenceline::sqlite
